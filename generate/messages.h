/* messages.h -- one answer to a conversation in a file.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef GENERATE_MESSAGES_H
#define GENERATE_MESSAGES_H

#include "engine.h"

/* Read the conversation that E's configuration names and print the answer, as text or as an object.  MM_EFORMAT
   for a conversation that mm_chat_parse or mm_chat_check_order refuses or in which nothing is asked, MM_EUSAGE for
   one that does not fit.  */
mm_status messages_answer (struct engine *e) MM_NODISCARD;

#endif /* GENERATE_MESSAGES_H */
