/* version.h -- what --version prints; argp calls it.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef MM_BASE_VERSION_H
#define MM_BASE_VERSION_H

#include <argp.h>
#include <stdio.h>

/* The program, the numerics version, backends, kernels and libraries built in.  */
void mm_version_print (FILE *stream, struct argp_state *state);

#endif /* MM_BASE_VERSION_H */
