/* shown.h -- text that a person can read and a terminal survives.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MINIMIND_SHOWN_H
#define MINIMIND_SHOWN_H

#include <stddef.h>
#include <stdio.h>

/* SIZE bytes on F: characters as they are, but \n \t \r \\, and \xNN for other control characters and for bytes
   that are no whole character.  */
void mm_shown_write (FILE *f, const char *bytes, size_t size);

/* The same as a new string; NULL when memory is short.  */
char *mm_shown_text (const char *bytes, size_t size);

#endif /* MINIMIND_SHOWN_H */
