/* print.h -- descriptions as lines for people.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef INSPECT_PRINT_H
#define INSPECT_PRINT_H

#include <jansson.h>

/* The fields of the object D on standard output, each line behind INDENT blanks.  */
void print_fields (json_t *d, int indent);

#endif /* INSPECT_PRINT_H */
