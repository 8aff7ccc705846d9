/* options.h -- the options of a conversation.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef GENERATE_OPTIONS_H
#define GENERATE_OPTIONS_H

#include <argp.h>

#include "generate.h"

/* A child parser; its input is a struct generate_talk *, filled with the defaults first.  */
extern const struct argp generate_talk_argp;

/* Is there a conversation, rather than a text to go on from?  */
static inline bool
generate_talks (const struct generate_talk *talk)
{
  return talk->chat || talk->messages;
}

#endif /* GENERATE_OPTIONS_H */
