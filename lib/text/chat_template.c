/* chat_template.c -- the built-in chat templates: a conversation as text, byte for byte as transformers
   renders it.
   SPDX-License-Identifier: Apache-2.0

   Source: the chat_template of MiniMind's tokenizer_config.json (minimind-3: the present one;
   minimind2: that of MiniMind 2), which take their layout from Qwen's.  Stripping is of line ends only.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/memory.h>

#include "chat_impl.h"

/* ---- writing with labels ---- */

enum label
{
  FRAME,                        /* the template's own, not learnt */
  FRAME_TARGET,                 /* the template's own in the assistant's turn */
  INERT,                        /* what others typed */
  WORDS,                        /* the assistant's words, of a turn that is not learnt */
  WORDS_TARGET
};

static const struct mm_chat_range labels[] = {
  [FRAME] = { .tokens = MM_TOKENS_ALL },
  [FRAME_TARGET] = { .tokens = MM_TOKENS_ALL, .target = true },
  [INERT] = { .tokens = MM_TOKENS_NONE },
  [WORDS] = { .tokens = MM_TOKENS_PLAIN },
  [WORDS_TARGET] = { .tokens = MM_TOKENS_PLAIN, .target = true }
};

struct writer
{
  struct mm_chat_text *out;
  enum mm_chat_template template;
  mm_status st;                 /* of the first failure; nothing is written after it */
};

static void
put_bytes (struct writer *w, const char *bytes, size_t size, enum label label)
{
  struct mm_chat_text *out = w->out;
  struct mm_chat_range range = labels[label], *last;

  if (w->st < 0 || size == 0)
    return;
  w->st = mm_grow ("rendered conversation", &out->text, &out->capacity, out->size + size, 1);
  if (w->st < 0)
    return;
  memcpy (out->text + out->size, bytes, size);
  out->size += size;
  range.end = out->size;
  last = out->n_ranges ? &out->ranges[out->n_ranges - 1] : NULL;
  if (last && last->tokens == range.tokens && last->target == range.target)
    {
      last->end = range.end;
      return;
    }
  w->st = mm_grow ("ranges of a conversation", &out->ranges, &out->ranges_capacity, out->n_ranges + 1,
                   sizeof *out->ranges);
  if (w->st == MM_OK)
    out->ranges[out->n_ranges++] = range;
}

static void
put (struct writer *w, const char *text, enum label label)
{
  put_bytes (w, text, strlen (text), label);
}

static void
put_string (struct writer *w, struct mm_chat_string s, enum label label)
{
  put_bytes (w, s.bytes, s.size, label);
}

static void
put_json (struct writer *w, const json_t *value, enum label label)
{
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream (&text, &size);
  mm_status st = f ? mm_json_write_python (value, f) : MM_ENOMEM;

  if ((f && fclose (f) != 0) || !f)
    st = mm_fail (MM_ENOMEM, "no memory for a conversation");
  if (w->st == MM_OK)
    w->st = st;
  put_bytes (w, text, size, label);
  free (text);
}

static void
end_turn (struct writer *w, enum label label)
{
  struct mm_chat_text *out = w->out;

  put (w, "<|im_end|>\n", label);
  if (w->st == MM_OK)
    w->st = mm_grow ("turns of a conversation", &out->turn_ends, &out->turns_capacity, out->n_turns + 1,
                     sizeof *out->turn_ends);
  if (w->st == MM_OK)
    out->turn_ends[out->n_turns++] = out->size;
}

/* ---- strings ---- */

static struct mm_chat_string
strip_left (struct mm_chat_string s)
{
  while (s.size && *s.bytes == '\n')
    s.bytes++, s.size--;
  return s;
}

static struct mm_chat_string
strip_right (struct mm_chat_string s)
{
  while (s.size && s.bytes[s.size - 1] == '\n')
    s.size--;
  return s;
}

/* What stands before the first MARK in S; all of it where there is none.  */
static struct mm_chat_string
before_first (struct mm_chat_string s, const char *mark)
{
  const char *found = s.size ? memmem (s.bytes, s.size, mark, strlen (mark)) : NULL;

  if (found)
    s.size = (size_t) (found - s.bytes);
  return s;
}

/* What stands behind the last MARK in S; all of it where there is none.  */
static struct mm_chat_string
behind_last (struct mm_chat_string s, const char *mark)
{
  size_t length = strlen (mark);
  const char *found;

  while (s.size && (found = memmem (s.bytes, s.size, mark, length)))
    {
      s.size -= (size_t) (found - s.bytes) + length;
      s.bytes = found + length;
    }
  return s;
}

/* ---- turns ---- */

static void
put_plain_turn (struct writer *w, const struct mm_chat_turn *turn)
{
  put (w, "<|im_start|>", FRAME);
  put (w, mm_chat_role_name (turn->role), FRAME);
  put (w, "\n", FRAME);
  put_string (w, turn->content, INERT);
  end_turn (w, FRAME);
}

/* What an assistant's turn says: under minimind-3 reasoning stands in its own field, or in the content before
   </think>.  */
struct words
{
  struct mm_chat_string reasoning, content;
};

static struct words
words_of (const struct writer *w, const struct mm_chat_turn *turn)
{
  struct words x = { turn->reasoning, turn->content };

  if (w->template == MM_CHAT_MINIMIND3 && !x.reasoning.bytes && x.content.size
      && memmem (x.content.bytes, x.content.size, "</think>", 8))
    {
      x.reasoning = strip_left (behind_last (strip_right (before_first (x.content, "</think>")), "<think>"));
      x.content = strip_left (behind_last (x.content, "</think>"));
    }
  return x;
}

static void
put_words (struct writer *w, const struct words *x, enum label frame, enum label words)
{
  if (w->template != MM_CHAT_MINIMIND3)
    {
      put_string (w, x->content, words);
      return;
    }
  put (w, "<think>\n", frame);
  put_string (w, strip_left (strip_right (x->reasoning)), words);
  put (w, "\n</think>\n\n", frame);
  put_string (w, strip_left (x->content), words);
}

static void
put_call (struct writer *w, const json_t *call, enum label frame, enum label words)
{
  const json_t *name = json_object_get (mm_chat_call (call), "name");
  const json_t *arguments = json_object_get (mm_chat_call (call), "arguments");

  put (w, "<tool_call>\n{\"name\": \"", frame);
  put_bytes (w, json_string_value (name), json_string_length (name), words);
  put (w, "\", \"arguments\": ", frame);
  if (json_is_string (arguments))
    put_bytes (w, json_string_value (arguments), json_string_length (arguments), words);
  else
    put_json (w, arguments, words);
  put (w, "}\n</tool_call>", frame);
}

static void
put_assistant (struct writer *w, const struct mm_chat_turn *turn)
{
  enum label frame = turn->trained ? FRAME_TARGET : FRAME;
  enum label words = turn->trained ? WORDS_TARGET : WORDS;
  struct words said = words_of (w, turn);
  const json_t *call;
  size_t i;

  put (w, "<|im_start|>assistant\n", FRAME);
  put_words (w, &said, frame, words);
  json_array_foreach ((json_t *) turn->calls, i, call)
    {
      /* The template asks for content before it strips line ends.  */
      if (i || said.content.size)
        put (w, "\n", frame);
      put_call (w, call, frame, words);
    }
  end_turn (w, frame);
}

/* Answers of tools share a turn of the user.  */
static void
put_tool (struct writer *w, const struct mm_chat *c, size_t i)
{
  if (i == 0 || c->turns[i - 1].role != MM_ROLE_TOOL)
    put (w, "<|im_start|>user", FRAME);
  put (w, "\n<tool_response>\n", FRAME);
  put_string (w, c->turns[i].content, INERT);
  put (w, "\n</tool_response>", FRAME);
  if (i + 1 == c->n_turns || c->turns[i + 1].role != MM_ROLE_TOOL)
    end_turn (w, FRAME);
}

/* ---- the head ---- */

static void
put_tools (struct writer *w, const json_t *tools)
{
  const json_t *tool;
  size_t i;

  put (w, "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
       "You are provided with function signatures within <tools></tools> XML tags:\n<tools>", FRAME);
  json_array_foreach ((json_t *) tools, i, tool)
    {
      put (w, "\n", FRAME);
      put_json (w, tool, INERT);
    }
  put (w, "\n</tools>\n\nFor each function call, return a json object with function name and arguments "
       "within <tool_call></tool_call> XML tags:\n<tool_call>\n"
       "{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>", FRAME);
}

/* The system turn: prompt, tools or both.  */
static void
put_head (struct writer *w, const struct mm_chat *c)
{
  const struct mm_chat_turn *system = c->turns[0].role == MM_ROLE_SYSTEM ? &c->turns[0] : NULL;
  bool by_default = !system && !c->tools && w->template == MM_CHAT_MINIMIND2;

  if (!system && !c->tools && !by_default)
    return;
  put (w, "<|im_start|>system\n", FRAME);
  if (system)
    put_string (w, system->content, INERT);
  if (by_default)
    put (w, "You are a helpful assistant", FRAME);
  if (system && c->tools)
    put (w, "\n\n", FRAME);
  if (c->tools)
    put_tools (w, c->tools);
  end_turn (w, FRAME);
}

static void
put_minimind (struct writer *w, const struct mm_chat *c)
{
  put_head (w, c);
  for (size_t i = 0; i < c->n_turns; i++)
    {
      const struct mm_chat_turn *turn = &c->turns[i];

      if (turn->role == MM_ROLE_ASSISTANT)
        put_assistant (w, turn);
      else if (turn->role == MM_ROLE_TOOL)
        put_tool (w, c, i);
      else if (turn->role == MM_ROLE_USER || i > 0)
        put_plain_turn (w, turn);
    }
}

static void
put_chatml (struct writer *w, const struct mm_chat *c)
{
  for (size_t i = 0; i < c->n_turns; i++)
    if (c->turns[i].role == MM_ROLE_ASSISTANT)
      put_assistant (w, &c->turns[i]);
    else
      put_plain_turn (w, &c->turns[i]);
}

static void
put_prompt (struct writer *w, enum mm_thinking thinking)
{
  put (w, "<|im_start|>assistant\n", FRAME);
  if (w->template == MM_CHAT_MINIMIND3 && thinking == MM_THINKING_ON)
    put (w, "<think>\n", FRAME);
  else if (w->template == MM_CHAT_MINIMIND3
           || (w->template == MM_CHAT_MINIMIND2 && thinking == MM_THINKING_OFF))
    put (w, "<think>\n\n</think>\n\n", FRAME);
}

/* ---- rendering ---- */

/* What the template would leave out or fail on.  */
static mm_status
check (const struct mm_chat *c, enum mm_chat_template t)
{
  if (t != MM_CHAT_CHATML && c->turns[0].role == MM_ROLE_SYSTEM && !c->turns[0].content.bytes)
    return mm_fail (MM_EFORMAT, "turn 1: a system turn without content");
  if (t == MM_CHAT_CHATML && c->tools)
    return mm_fail (MM_EFORMAT, "tools: chatml has no place for them (minimind2 and minimind-3 do)");
  for (size_t i = 0; i < c->n_turns && t == MM_CHAT_CHATML; i++)
    if (c->turns[i].calls)
      return mm_fail (MM_EFORMAT, "turn %zu: a call of a tool: chatml has no place for it (minimind2 and "
                      "minimind-3 do)", i + 1);
  return MM_OK;
}

mm_status
mm_chat_render (const struct mm_chat *c, enum mm_chat_template t, enum mm_thinking thinking, bool prompt,
                struct mm_chat_text *out)
{
  struct writer w = { .out = out, .template = t, .st = check (c, t) };

  out->size = out->n_ranges = out->n_turns = 0;
  if (w.st < 0)
    return w.st;
  if (t == MM_CHAT_CHATML)
    put_chatml (&w, c);
  else
    put_minimind (&w, c);
  if (prompt)
    put_prompt (&w, thinking);
  return w.st;
}

void
mm_chat_text_free (struct mm_chat_text *text)
{
  free (text->text);
  free (text->ranges);
  free (text->turn_ends);
  *text = (struct mm_chat_text) { 0 };
}

/* ---- which template ---- */

static const char *const names[] = {
  [MM_CHAT_CHATML] = "chatml",
  [MM_CHAT_MINIMIND2] = "minimind2",
  [MM_CHAT_MINIMIND3] = "minimind-3"
};

enum { N_NAMES = sizeof names / sizeof *names };

/* SHA-256 of a configuration's chat_template that renders as a template does.  */
static const struct
{
  const char *sha256;
  enum mm_chat_template template;
} known[] = {
  { "97c6a9ef3f8d35044f435bb7773f1af160a7328ab6e8d2e9d67702941320a711", MM_CHAT_MINIMIND3 },
  { "4f57494cd38c0e4e50e27f4632fb6907414a68cc48d0bbc48da5449c596c69fa", MM_CHAT_MINIMIND2 },
  /* What train-tokenizer writes, and the spelling most models have.  */
  { "e772b6ad1ea2a9b717ead97c3d9266a75e14489ec55a751b956003420d7b4981", MM_CHAT_CHATML },
  { "fcf7a096fe99a48fd9ad2b250bf9237e96e8f48bffec1c7ea4d3f225176cd40e", MM_CHAT_CHATML }
};

const char *
mm_chat_template_name (enum mm_chat_template t)
{
  return (size_t) t < N_NAMES ? names[t] : NULL;
}

/* The chat_template in the configuration of T into *TEXT, new; NULL where there is none.  */
static mm_status
template_text (const struct mm_tokenizer *t, char **text)
{
  const char *json, *config, *value = NULL;
  size_t json_size, config_size;
  json_t *root = NULL;
  mm_status st = MM_OK;

  *text = NULL;
  mm_tokenizer_files (t, &json, &json_size, &config, &config_size);
  if (config)
    st = mm_json_parse ("tokenizer_config.json", config, config_size, &root);
  if (st == MM_OK && root)
    value = json_string_value (json_object_get (root, "chat_template"));
  if (value && !(*text = strdup (value)))
    st = mm_fail (MM_ENOMEM, "no memory for a chat template");
  json_decref (root);
  return st;
}

static mm_status
recognise (const struct mm_tokenizer *t, enum mm_chat_template *out)
{
  char *text, sha256[MM_SHA256_TEXT];
  mm_status st = template_text (t, &text);

  if (st == MM_OK && text)
    st = mm_sha256_bytes (text, strlen (text), sha256);
  if (st == MM_OK && !text)
    st = mm_fail (MM_EUNSUP, "the tokenizer's configuration has no chat_template; choose one of chatml, "
                  "minimind2, minimind-3");
  free (text);
  if (st < 0)
    return st;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp (known[i].sha256, sha256) == 0)
      {
        *out = known[i].template;
        return MM_OK;
      }
  return mm_fail (MM_EUNSUP, "the chat_template of the tokenizer's configuration is none of those known; "
                  "choose one of chatml, minimind2, minimind-3 if it renders alike");
}

mm_status
mm_chat_template_find (const char *name, const struct mm_tokenizer *t, enum mm_chat_template *out)
{
  if (strcmp (name, "auto") == 0)
    return recognise (t, out);
  for (size_t i = 0; i < N_NAMES; i++)
    if (strcmp (names[i], name) == 0)
      {
        *out = (enum mm_chat_template) i;
        return MM_OK;
      }
  return mm_fail (MM_EUSAGE, "no chat template \"%.40s\" (known: auto, chatml, minimind2, minimind-3)", name);
}
