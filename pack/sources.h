/* sources.h -- the inputs of the command line, sorted into sources.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef PACK_SOURCES_H
#define PACK_SOURCES_H

#include <argp.h>

#include "pack.h"

/* Room for as many inputs as MOST; sources_free whatever the result.  */
mm_status sources_new (struct pack_config *c, size_t most) MM_NODISCARD;

/* --mix=FILE:WEIGHT, as many as given; ARGS are the other inputs, one source of weight 1 before those of the
   mix.  Both are kept by C; the colon is cut off.  */
void sources_add_mix (struct argp_state *state, struct pack_config *c, char *arg);
void sources_add_args (struct pack_config *c, char **args, size_t n);
void sources_free (struct pack_config *c);

#endif /* PACK_SOURCES_H */
