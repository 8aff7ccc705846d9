/* chat.h -- a conversation, message by message.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef GENERATE_CHAT_H
#define GENERATE_CHAT_H

#include "engine.h"

/* Answer each line of standard input, or the one prompt of E's configuration.  On a terminal Ctrl-C ends an answer
   or a line, and what cannot be answered is said and passed over; elsewhere it is a failure: MM_EUSAGE for a message
   that does not fit or an unknown command, MM_EFORMAT for one that is not UTF-8.  */
mm_status chat (struct engine *e) MM_NODISCARD;

#endif /* GENERATE_CHAT_H */
