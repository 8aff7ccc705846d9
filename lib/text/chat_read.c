/* chat_read.c -- rows of chat data: four layouts, one conversation.
   SPDX-License-Identifier: Apache-2.0

   Layouts are those of MiniMind's lm_dataset.py, OpenAI's chat format, and LLaMA-Factory's
   data/README.md (ShareGPT, Alpaca).  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>
#include <minimind/memory.h>

#include "chat_impl.h"

static const char *const role_names[] = {
  [MM_ROLE_SYSTEM] = "system",
  [MM_ROLE_USER] = "user",
  [MM_ROLE_ASSISTANT] = "assistant",
  [MM_ROLE_TOOL] = "tool"
};

const char *
mm_chat_role_name (enum mm_chat_role role)
{
  return role_names[role];
}

/* What a row is read with: its name for messages, the turn under way.  */
struct row
{
  const char *name;
  struct mm_chat *chat;
};

static mm_status
bad_turn (const struct row *row, const char *problem)
{
  return mm_fail (MM_EFORMAT, "%s: turn %zu: %s", row->name, row->chat->n_turns + 1, problem);
}

/* Let the row own VALUE, a new reference; NULL where there is no memory.  */
static json_t *
keep (struct row *row, json_t *value)
{
  return value && json_array_append_new (row->chat->made, value) == 0 ? value : NULL;
}

static mm_status
no_memory (const struct row *row)
{
  return mm_fail (MM_ENOMEM, "%s: no memory", row->name);
}

static mm_status
add_turn (struct row *row, const struct mm_chat_turn *turn)
{
  struct mm_chat *c = row->chat;
  mm_status st = mm_grow ("turns of a conversation", &c->turns, &c->capacity, c->n_turns + 1,
                          sizeof *c->turns);

  if (st == MM_OK)
    c->turns[c->n_turns++] = *turn;
  return st;
}

static struct mm_chat_string
string_of (const json_t *value)
{
  return (struct mm_chat_string) { json_string_value (value), json_string_length (value) };
}

/* ---- parts of a turn ---- */

/* The text of one part of a content.  */
static mm_status
write_part (const struct row *row, const json_t *part, FILE *f)
{
  const char *type = json_string_value (json_object_get (part, "type"));
  const char *text = json_string_value (json_object_get (part, "text"));

  if (type && strcmp (type, "text") != 0)
    return mm_fail (MM_EUNSUP, "%s: turn %zu: content of type %.40s, want text", row->name,
                    row->chat->n_turns + 1, type);
  if (!text)
    return bad_turn (row, "a part of the content has no text");
  fputs (text, f);
  return MM_OK;
}

/* The texts of a list of parts, joined.  */
static mm_status
join_parts (struct row *row, const json_t *parts, struct mm_chat_string *out)
{
  char *text = NULL;
  size_t size, i;
  const json_t *part;
  FILE *f = open_memstream (&text, &size);
  mm_status st = f ? MM_OK : no_memory (row);
  json_t *joined;

  json_array_foreach ((json_t *) parts, i, part)
    if (st == MM_OK)
      st = write_part (row, part, f);
  if (f && fclose (f) != 0 && st == MM_OK)
    st = no_memory (row);
  joined = st == MM_OK ? keep (row, json_stringn (text, size)) : NULL;
  free (text);
  if (st == MM_OK && !joined)
    st = no_memory (row);
  *out = string_of (joined);
  return st;
}

/* Text, a list of parts of text, or nothing.  */
static mm_status
read_content (struct row *row, const json_t *value, struct mm_chat_string *out)
{
  if (json_is_array (value))
    return join_parts (row, value, out);
  if (value && !json_is_string (value) && !json_is_null (value))
    return bad_turn (row, "want content that is a string, null or a list of parts");
  *out = string_of (value);
  return MM_OK;
}

/* VALUE, or what the JSON text in it says, into *LIST: an array that is not empty, or NULL.  One
   object stands for an array of it.  */
static mm_status
read_list (struct row *row, const char *what, const json_t *value, const json_t **list)
{
  json_t *parsed = (json_t *) value;

  *list = NULL;
  if (!value || json_is_null (value) || (json_is_string (value) && json_string_length (value) == 0))
    return MM_OK;
  if (json_is_string (value))
    {
      mm_status st = mm_json_parse (what, json_string_value (value), json_string_length (value), &parsed);

      if (st < 0)
        return mm_fail_prefix (st, "%s: turn %zu", row->name, row->chat->n_turns + 1);
      if (!keep (row, parsed))
        return no_memory (row);
    }
  if (json_is_object (parsed))
    {
      json_t *one = keep (row, json_array ());

      if (!one || json_array_append (one, parsed) < 0)
        return no_memory (row);
      parsed = one;
    }
  if (json_is_null (parsed))
    return MM_OK;
  if (!json_is_array (parsed))
    return mm_fail (MM_EFORMAT, "%s: turn %zu: %s: want a list", row->name, row->chat->n_turns + 1, what);
  *list = json_array_size (parsed) ? parsed : NULL;
  return MM_OK;
}

static mm_status
read_tools (struct row *row, const json_t *value)
{
  const json_t *tools;
  mm_status st = read_list (row, "tools", value, &tools);

  if (st == MM_OK && tools)
    row->chat->tools = tools;
  return st;
}

const json_t *
mm_chat_call (const json_t *call)
{
  const json_t *function = json_object_get (call, "function");

  return json_is_object (function) && json_object_size (function) ? function : call;
}

static mm_status
read_calls (struct row *row, const json_t *value, struct mm_chat_turn *turn)
{
  const json_t *call;
  size_t i;
  mm_status st = read_list (row, "tool_calls", value, &turn->calls);

  if (st < 0 || !turn->calls)
    return st;
  json_array_foreach ((json_t *) turn->calls, i, call)
    if (!json_is_string (json_object_get (mm_chat_call (call), "name")))
      return bad_turn (row, "a call of a tool has no name");
    else if (!json_object_get (mm_chat_call (call), "arguments"))
      return bad_turn (row, "a call of a tool has no arguments");
  return MM_OK;
}

static mm_status
read_weight (struct row *row, const json_t *value, struct mm_chat_turn *turn)
{
  if (!value || json_is_null (value))
    return MM_OK;
  if (!json_is_number (value) || (json_number_value (value) != 0 && json_number_value (value) != 1))
    return bad_turn (row, "want a weight of 0 or 1");
  turn->trained = json_number_value (value) == 1;
  return MM_OK;
}

/* ---- MiniMind and OpenAI ---- */

static mm_status
read_role (struct row *row, const char *key, const json_t *message, enum mm_chat_role *role)
{
  const char *name = json_string_value (json_object_get (message, key));

  if (!name)
    return mm_fail (MM_EFORMAT, "%s: turn %zu: want an object with the string %s", row->name,
                    row->chat->n_turns + 1, key);
  for (size_t r = 0; r < sizeof role_names / sizeof *role_names; r++)
    if (strcmp (name, role_names[r]) == 0)
      {
        *role = (enum mm_chat_role) r;
        return MM_OK;
      }
  return mm_fail (MM_EFORMAT, "%s: turn %zu: unknown role \"%.40s\" (known: system, user, assistant, tool)",
                  row->name, row->chat->n_turns + 1, name);
}

static mm_status
read_message (struct row *row, const json_t *message)
{
  struct mm_chat_turn turn = { .trained = true };
  const json_t *reasoning = json_object_get (message, "reasoning_content");
  mm_status st = read_role (row, "role", message, &turn.role);

  if (st == MM_OK && reasoning && !json_is_string (reasoning) && !json_is_null (reasoning))
    st = bad_turn (row, "want reasoning_content that is a string or null");
  turn.reasoning = string_of (reasoning);
  if (st == MM_OK)
    st = read_content (row, json_object_get (message, "content"), &turn.content);
  if (st == MM_OK && turn.role == MM_ROLE_ASSISTANT)
    st = read_calls (row, json_object_get (message, "tool_calls"), &turn);
  if (st == MM_OK)
    st = read_weight (row, json_object_get (message, "weight"), &turn);
  if (st == MM_OK)
    st = read_tools (row, json_object_get (message, "tools"));
  return st < 0 ? st : add_turn (row, &turn);
}

/* ---- ShareGPT ---- */

static const struct
{
  const char *from;
  enum mm_chat_role role;
} sharegpt_roles[] = {
  { "human", MM_ROLE_USER },
  { "user", MM_ROLE_USER },
  { "gpt", MM_ROLE_ASSISTANT },
  { "assistant", MM_ROLE_ASSISTANT },
  { "function_call", MM_ROLE_ASSISTANT },
  { "observation", MM_ROLE_TOOL },
  { "tool", MM_ROLE_TOOL },
  { "system", MM_ROLE_SYSTEM }
};

static mm_status
read_sharegpt_turn (struct row *row, const json_t *message)
{
  const char *from = json_string_value (json_object_get (message, "from"));
  const json_t *value = json_object_get (message, "value");
  struct mm_chat_turn turn = { .trained = true };

  if (!from || !json_is_string (value))
    return bad_turn (row, "want an object with the strings from and value");
  for (size_t i = 0; i < sizeof sharegpt_roles / sizeof *sharegpt_roles; i++)
    if (strcmp (from, sharegpt_roles[i].from) == 0)
      {
        mm_status st = MM_OK;

        turn.role = sharegpt_roles[i].role;
        if (strcmp (from, "function_call") == 0)
          {
            st = read_calls (row, value, &turn);
            value = keep (row, json_string (""));
          }
        turn.content = string_of (value);
        return st < 0 ? st : value ? add_turn (row, &turn) : no_memory (row);
      }
  return mm_fail (MM_EFORMAT, "%s: turn %zu: unknown from \"%.40s\" (known: human, gpt, function_call, "
                  "observation, system)", row->name, row->chat->n_turns + 1, from);
}

/* ---- Alpaca ---- */

static mm_status
add_text (struct row *row, enum mm_chat_role role, const json_t *text)
{
  struct mm_chat_turn turn = { .role = role, .content = string_of (text), .trained = true };

  return text ? add_turn (row, &turn) : no_memory (row);
}

static mm_status
read_history (struct row *row, const json_t *history)
{
  const json_t *pair;
  size_t i;
  mm_status st = MM_OK;

  if (history && !json_is_array (history) && !json_is_null (history))
    return mm_fail (MM_EFORMAT, "%s: history: want a list of pairs", row->name);
  json_array_foreach ((json_t *) history, i, pair)
    {
      const json_t *asked = json_array_get (pair, 0), *answered = json_array_get (pair, 1);

      if (json_array_size (pair) != 2 || !json_is_string (asked) || !json_is_string (answered))
        return mm_fail (MM_EFORMAT, "%s: history: pair %zu: want two strings", row->name, i + 1);
      st = add_text (row, MM_ROLE_USER, asked);
      if (st == MM_OK)
        st = add_text (row, MM_ROLE_ASSISTANT, answered);
      if (st < 0)
        break;
    }
  return st;
}

static mm_status
read_alpaca (struct row *row)
{
  const json_t *root = row->chat->root;
  const char *instruction, *input = NULL, *output, *system = NULL;
  mm_status st = mm_json_string (row->name, root, "instruction", true, &instruction);

  if (st == MM_OK)
    st = mm_json_string (row->name, root, "input", false, &input);
  if (st == MM_OK)
    st = mm_json_string (row->name, root, "output", true, &output);
  if (st == MM_OK)
    st = mm_json_string (row->name, root, "system", false, &system);
  if (st == MM_OK && system && *system)
    st = add_text (row, MM_ROLE_SYSTEM, json_object_get (root, "system"));
  if (st == MM_OK)
    st = read_history (row, json_object_get (root, "history"));
  if (st == MM_OK)
    st = add_text (row, MM_ROLE_USER,
                   input && *input ? keep (row, json_sprintf ("%s\n%s", instruction, input))
                                   : json_object_get (root, "instruction"));
  return st < 0 ? st : add_text (row, MM_ROLE_ASSISTANT, json_object_get (root, "output"));
}

/* ---- rows ---- */

static mm_status
read_turns (struct row *row, const char *what, const json_t *list,
            mm_status (*read) (struct row *, const json_t *))
{
  const json_t *message;
  size_t i;

  if (!json_is_array (list))
    return mm_fail (MM_EFORMAT, "%s: %s: want a list", row->name, what);
  json_array_foreach ((json_t *) list, i, message)
    {
      mm_status st = read (row, message);

      if (st < 0)
        return st;
    }
  return MM_OK;
}

/* The system prompt that stands beside ShareGPT's turns.  */
static mm_status
read_sharegpt (struct row *row, const json_t *turns)
{
  const json_t *root = row->chat->root;
  const char *system = NULL;
  mm_status st = mm_json_string (row->name, root, "system", false, &system);

  if (st == MM_OK && system && *system)
    st = add_text (row, MM_ROLE_SYSTEM, json_object_get (root, "system"));
  if (st == MM_OK)
    st = read_turns (row, "conversations", turns, read_sharegpt_turn);
  return st;
}

static mm_status
read_row (struct row *row)
{
  const json_t *root = row->chat->root;
  const json_t *turns = json_object_get (root, "conversations");
  mm_status st;

  if (json_is_array (root))
    return read_turns (row, "messages", root, read_message);
  if (!json_is_object (root))
    return mm_fail (MM_EFORMAT, "%s: want an object or a list of messages", row->name);
  if (json_object_get (root, "chosen") || json_object_get (root, "rejected"))
    return mm_fail (MM_EUNSUP, "%s: a preference pair (chosen, rejected), not a conversation", row->name);
  st = read_tools (row, json_object_get (root, "tools"));
  if (st < 0)
    return st;
  if (turns)
    return json_object_get (json_array_get (turns, 0), "from")
             ? read_sharegpt (row, turns)
             : read_turns (row, "conversations", turns, read_message);
  if (json_object_get (root, "messages"))
    return read_turns (row, "messages", json_object_get (root, "messages"), read_message);
  if (json_object_get (root, "instruction"))
    return read_alpaca (row);
  return mm_fail (MM_EFORMAT, "%s: no conversation: want conversations, messages or instruction", row->name);
}

mm_status
mm_chat_parse (const char *name, const char *json, size_t size, struct mm_chat **out)
{
  struct row row = { .name = name };
  mm_status st = mm_alloc ("conversation", 1, sizeof *row.chat, &row.chat);

  *out = NULL;
  if (st < 0)
    return st;
  row.chat->made = json_array ();
  st = row.chat->made ? mm_json_parse (name, json, size, &row.chat->root) : no_memory (&row);
  if (st == MM_OK)
    st = read_row (&row);
  if (st == MM_OK && row.chat->n_turns == 0)
    st = mm_fail (MM_EFORMAT, "%s: a conversation without turns", name);
  if (st < 0)
    mm_chat_free (row.chat);
  else
    *out = row.chat;
  return st;
}

/* Does NAME stand in JSON between quotes?  */
static bool
names (const char *json, size_t size, const char *name)
{
  return memmem (json, size, name, strlen (name)) != NULL;
}

bool
mm_chat_detect (const char *json, size_t size)
{
  json_t *root;
  bool is_chat = false;

  /* Of what is wrong with a conversation is told where it is read as one.  */
  if (mm_json_parse ("row", json, size, &root) < 0)
    return (names (json, size, "\"messages\"") || names (json, size, "\"conversations\""))
           && !names (json, size, "\"text\"");
  if (json_is_array (root))
    is_chat = json_object_get (json_array_get (root, 0), "role") != NULL;
  else if (!json_object_get (root, "text"))
    is_chat = json_is_array (json_object_get (root, "conversations"))
              || json_is_array (json_object_get (root, "messages"))
              || (json_object_get (root, "instruction") && json_object_get (root, "output"));
  json_decref (root);
  return is_chat;
}

void
mm_chat_free (struct mm_chat *c)
{
  if (!c)
    return;
  free (c->turns);
  json_decref (c->made);
  json_decref (c->root);
  free (c);
}

size_t
mm_chat_turns (const struct mm_chat *c)
{
  return c->n_turns;
}

bool
mm_chat_is_answered (const struct mm_chat *c)
{
  enum mm_chat_role last = c->turns[c->n_turns - 1].role;

  return last != MM_ROLE_USER && last != MM_ROLE_TOOL;
}

/* ---- order ---- */

/* May TURN follow BEFORE, NULL at the beginning?  An answer may come apart from the call that it ends
   with, as ShareGPT has it.  */
static bool
may_follow (const struct mm_chat_turn *before, const struct mm_chat_turn *turn)
{
  switch (turn->role)
    {
    case MM_ROLE_SYSTEM:
      return !before;
    case MM_ROLE_USER:
      return !before || before->role == MM_ROLE_SYSTEM || before->role == MM_ROLE_ASSISTANT;
    case MM_ROLE_ASSISTANT:
      return before && (before->role == MM_ROLE_USER || before->role == MM_ROLE_TOOL
                        || (before->role == MM_ROLE_ASSISTANT && !before->calls && turn->calls));
    case MM_ROLE_TOOL:
      return before && (before->role == MM_ROLE_TOOL || (before->role == MM_ROLE_ASSISTANT && before->calls));
    }
  return false;
}

mm_status
mm_chat_check_order (const char *name, const struct mm_chat *c)
{
  for (size_t i = 0; i < c->n_turns; i++)
    {
      const struct mm_chat_turn *before = i ? &c->turns[i - 1] : NULL, *turn = &c->turns[i];

      if (!may_follow (before, turn))
        return before ? mm_fail (MM_EFORMAT, "%s: turn %zu: %s follows %s", name, i + 1,
                                 mm_chat_role_name (turn->role), mm_chat_role_name (before->role))
                      : mm_fail (MM_EFORMAT, "%s: turn 1: %s comes first", name,
                                 mm_chat_role_name (turn->role));
    }
  return MM_OK;
}
