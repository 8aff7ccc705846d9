/* chat.h -- conversations: rows of chat data, the templates that turn them into text, and which of
   its bytes a model learns.
   SPDX-License-Identifier: Apache-2.0

   A row is JSON: MiniMind's "conversations" (role, content, reasoning_content, tools, tool_calls), OpenAI's
   "messages", ShareGPT's "conversations" (from, value; system and tools beside them), Alpaca's
   instruction, input, output and history, or a bare array of messages.

   A template gives the text that HuggingFace transformers renders, and with it a label for each range
   of its bytes: is it a training target, and which added tokens may stand in it.  The text is encoded
   once; nothing is searched for afterwards.  What a user typed is never a control token.

     struct mm_chat *c;
     struct mm_chat_text text = { 0 };
     if (mm_chat_parse ("row 3", json, size, &c) < 0
         || mm_chat_render (c, MM_CHAT_MINIMIND3, MM_THINKING_DEFAULT, false, &text) < 0) ...  */

#ifndef MINIMIND_CHAT_H
#define MINIMIND_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/error.h>
#include <minimind/tokenizer.h>

struct mm_chat;                 /* opaque: one conversation */

/* Read one row of SIZE bytes; NAME stands in messages.  MM_EFORMAT names the turn (from 1) and what
   is wrong with it: a row of no kind above, no turns, an unknown role, content that is not text, a tool
   call without a name, a weight that is not 0 or 1; MM_EUNSUP for preference pairs and for content
   that is not text (images, audio).  */
mm_status mm_chat_parse (const char *name, const char *json, size_t size,
                         struct mm_chat **c) MM_NODISCARD;
void mm_chat_free (struct mm_chat *c);  /* accepts NULL */

/* Does the JSON value of SIZE bytes look like a row of chat data, well made or not: an object with conversations,
   messages or instruction and output, and no field text; or a list of messages?  What is no JSON is told by its names.
   For MM_DOCUMENTS_AUTO.  */
bool mm_chat_detect (const char *json, size_t size);

size_t mm_chat_turns (const struct mm_chat *c);

/* True unless the last turn is the user's or a tool's: there is nothing to answer.  */
bool mm_chat_is_answered (const struct mm_chat *c);

/* Do the roles follow each other as in a conversation to learn from: system only first, then user,
   assistant (calls of tools may go before its answer), user ..., tool only behind a call or another
   tool's answer?  MM_EFORMAT names the turn and both roles.  Templates take any order.  */
mm_status mm_chat_check_order (const char *name, const struct mm_chat *c) MM_NODISCARD;

enum mm_chat_template
{
  MM_CHAT_CHATML,               /* role and content of every turn, nothing else */
  MM_CHAT_MINIMIND2,            /* with a default system prompt; tools */
  MM_CHAT_MINIMIND3             /* with a <think> block in each of the assistant's turns; tools */
};

/* "chatml", "minimind2", "minimind-3"; NULL for no such template.  */
const char *mm_chat_template_name (enum mm_chat_template t);

/* The template called NAME, or with "auto" the one that stands in the tokenizer's configuration, known by
   its hash.  MM_EUSAGE for an unknown name, MM_EUNSUP for an unknown template or where there is none;
   both list the known ones.  */
mm_status mm_chat_template_find (const char *name, const struct mm_tokenizer *t,
                                 enum mm_chat_template *out) MM_NODISCARD;

/* Which added tokens may stand in a range.  */
enum mm_chat_tokens
{
  MM_TOKENS_NONE,               /* what others typed: all is text */
  MM_TOKENS_PLAIN,              /* the assistant's words: those that are not special */
  MM_TOKENS_ALL                 /* the template's own text */
};

struct mm_chat_range
{
  size_t end;                   /* byte behind the range; it starts where the one before ends */
  enum mm_chat_tokens tokens;
  bool target;
};

struct mm_chat_text
{
  char *text;                   /* not terminated */
  size_t size, capacity;
  struct mm_chat_range *ranges; /* neighbours differ; the last ends at SIZE */
  size_t n_ranges, ranges_capacity;
  size_t *turn_ends;            /* byte behind each turn of the text, ascending */
  size_t n_turns, turns_capacity;
};

/* What the prompt for an answer opens with.  */
enum mm_thinking
{
  MM_THINKING_DEFAULT,          /* minimind-3: an empty <think> block; else nothing */
  MM_THINKING_ON,               /* minimind-3: an open <think> */
  MM_THINKING_OFF               /* an empty <think> block (not under chatml) */
};

/* Render C by template T into TEXT, which is emptied first; its memory is kept and grown.  With PROMPT the header of
   the assistant's next turn follows.  Targets are the assistant's words, its <think> block, its calls
   of tools, and the end token and newline behind them, unless the turn's weight is 0.  MM_EFORMAT where the template
   cannot render: tools or calls under chatml, a first system turn whose content is null.  */
mm_status mm_chat_render (const struct mm_chat *c, enum mm_chat_template t, enum mm_thinking thinking,
                          bool prompt, struct mm_chat_text *text) MM_NODISCARD;
void mm_chat_text_free (struct mm_chat_text *text);

/* ---- ids ---- */

struct mm_chat_ids
{
  struct mm_ids ids;
  uint8_t *mask;                /* [ids.count]: 1, the token is a target */
  size_t mask_capacity;
  size_t *turn_ends;            /* ids before the end of each turn, ascending */
  size_t n_turns, turns_capacity;
};

/* Encode TEXT with E into OUT, which is emptied first; its memory is kept and grown.  Added tokens match only
   where the range that they lie in lets them, and across no border of one.  A token is a target when any of its
   bytes is.  MM_EFORMAT for invalid UTF-8.  */
mm_status mm_chat_encode (struct mm_encoder *e, const struct mm_chat_text *text,
                          struct mm_chat_ids *out) MM_NODISCARD;

/* The same as MiniMind does it: control tokens match wherever they stand, and targets are found in the ids, from
   <|im_start|>assistant and a line end to <|im_end|> and a line end.  A turn whose body begins with two
   spaces is not found; a user who types a header makes a turn.  Source: MiniMind's dataset/lm_dataset.py.  */
mm_status mm_chat_encode_minimind (struct mm_encoder *e, const struct mm_chat_text *text,
                                   struct mm_chat_ids *out) MM_NODISCARD;
void mm_chat_ids_free (struct mm_chat_ids *ids);

#endif /* MINIMIND_CHAT_H */
