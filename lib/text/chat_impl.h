/* chat_impl.h -- a conversation as the templates see it.
   SPDX-License-Identifier: Apache-2.0

   Private to lib/text.  */

#ifndef TEXT_CHAT_IMPL_H
#define TEXT_CHAT_IMPL_H

#include <jansson.h>

#include <minimind/chat.h>

enum mm_chat_role
{
  MM_ROLE_SYSTEM,
  MM_ROLE_USER,
  MM_ROLE_ASSISTANT,
  MM_ROLE_TOOL
};

struct mm_chat_string
{
  const char *bytes;            /* NULL: null or missing; else owned by the row's JSON */
  size_t size;
};

struct mm_chat_turn
{
  enum mm_chat_role role;
  struct mm_chat_string content, reasoning;
  const json_t *calls;          /* of tools: a non-empty array, or NULL; each an object with a name */
  bool trained;                 /* the assistant's words are targets */
};

struct mm_chat
{
  json_t *root;                 /* the row */
  json_t *made;                 /* an array that owns what was parsed or put together from strings in it */
  const json_t *tools;          /* a non-empty array, or NULL */
  struct mm_chat_turn *turns;
  size_t n_turns, capacity;
};

/* "system", "user", "assistant", "tool".  */
const char *mm_chat_role_name (enum mm_chat_role role);

/* The object that holds a call's name and arguments: its "function" if it has one.  */
const json_t *mm_chat_call (const json_t *call);

#endif /* TEXT_CHAT_IMPL_H */
