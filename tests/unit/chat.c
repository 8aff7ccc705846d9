/* chat.c -- layouts of chat rows, what is refused, and which bytes are learnt.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/chat.h>

#include "../tap.h"
#include "tiny.h"

/* ROW as chatml, or what went wrong, in a string of the caller's.  */
static char *
rendered (const char *row, enum mm_chat_template t)
{
  struct mm_chat_text text = { 0 };
  struct mm_chat *c;
  char *out = NULL;

  if (mm_chat_parse ("row", row, strlen (row), &c) < 0)
    return strdup (mm_error_message ());
  out = mm_chat_render (c, t, MM_THINKING_DEFAULT, false, &text) < 0 ? strdup (mm_error_message ())
                                                                     : strndup (text.text, text.size);
  mm_chat_text_free (&text);
  mm_chat_free (c);
  return out;
}

static void
check_layouts (void)
{
  static const char want[] = "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na\nb<|im_end|>\n"
                             "<|im_start|>assistant\nc<|im_end|>\n";
  static const struct { const char *name, *row; } rows[] = {
    { "MiniMind", "{\"conversations\":[{\"role\":\"system\",\"content\":\"S\",\"tools\":null},"
                  "{\"role\":\"user\",\"content\":\"a\\nb\"},{\"role\":\"assistant\",\"content\":\"c\"}]}" },
    { "OpenAI", "{\"messages\":[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\",\"content\":"
                "[{\"type\":\"text\",\"text\":\"a\\n\"},{\"type\":\"text\",\"text\":\"b\"}]},"
                "{\"role\":\"assistant\",\"content\":\"c\",\"weight\":1}]}" },
    { "messages alone", "[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\",\"content\":\"a\\nb\"},"
                        "{\"role\":\"assistant\",\"content\":\"c\"}]" },
    { "ShareGPT", "{\"system\":\"S\",\"tools\":\"\",\"conversations\":[{\"from\":\"human\",\"value\":\"a\\nb\"},"
                  "{\"from\":\"gpt\",\"value\":\"c\"}]}" },
    { "Alpaca", "{\"instruction\":\"a\",\"input\":\"b\",\"output\":\"c\",\"system\":\"S\",\"history\":[]}" }
  };

  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    {
      char *text = rendered (rows[i].row, MM_CHAT_CHATML);

      ok (strcmp (text, want) == 0, rows[i].name);
      free (text);
    }
}

static void
check_calls (void)
{
  char *theirs = rendered ("{\"tools\":\"[{\\\"name\\\": \\\"f\\\"}]\",\"conversations\":["
                           "{\"from\":\"human\",\"value\":\"q\"},{\"from\":\"function_call\","
                           "\"value\":\"{\\\"name\\\": \\\"f\\\", \\\"arguments\\\": {\\\"x\\\": 1.50}}\"},"
                           "{\"from\":\"observation\",\"value\":\"r\"},{\"from\":\"gpt\",\"value\":\"d\"}]}",
                           MM_CHAT_MINIMIND2);
  char *ours = rendered ("{\"conversations\":[{\"role\":\"system\",\"content\":\"\",\"tools\":\"[]\"},"
                         "{\"role\":\"user\",\"content\":\"q\",\"tools\":[{\"name\":\"f\"}]},"
                         "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":\"[{\\\"name\\\":\\\"f\\\","
                         "\\\"arguments\\\":{\\\"x\\\":1.5}}]\"},{\"role\":\"tool\",\"content\":\"r\"},"
                         "{\"role\":\"assistant\",\"content\":\"d\"}]}", MM_CHAT_MINIMIND2);
  const char *want = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1.5}}\n</tool_call><|im_end|>\n"
                     "<|im_start|>user\n<tool_response>\nr\n</tool_response><|im_end|>\n"
                     "<|im_start|>assistant\nd<|im_end|>\n";

  ok (strstr (theirs, want) && strstr (theirs, "<tools>\n{\"name\": \"f\"}\n</tools>"),
      "ShareGPT's calls and answers of tools");
  ok (strstr (ours, want) && strstr (ours, "<tools>\n{\"name\": \"f\"}\n</tools>"),
      "MiniMind's tools and calls, JSON in strings");
  free (theirs);
  free (ours);
}

static void
check_refusals (void)
{
  static const struct { const char *row; mm_status st; const char *said; } rows[] = {
    { "{", MM_EFORMAT, "row: byte 1" },
    { "3", MM_EFORMAT, "want an object or a list" },
    { "{}", MM_EFORMAT, "no conversation" },
    { "[]", MM_EFORMAT, "without turns" },
    { "{\"messages\":[]}", MM_EFORMAT, "without turns" },
    { "{\"messages\":{}}", MM_EFORMAT, "messages: want a list" },
    { "[3]", MM_EFORMAT, "turn 1: want an object with the string role" },
    { "[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"developer\",\"content\":\"\"}]", MM_EFORMAT,
      "turn 2: unknown role \"developer\"" },
    { "[{\"role\":\"user\",\"content\":3}]", MM_EFORMAT, "want content" },
    { "[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]", MM_EUNSUP, "type image_url" },
    { "[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]", MM_EFORMAT, "has no text" },
    { "[{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":1}]", MM_EFORMAT, "reasoning_content" },
    { "[{\"role\":\"assistant\",\"content\":\"\",\"weight\":0.5}]", MM_EFORMAT, "weight of 0 or 1" },
    { "[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"arguments\":{}}]}]", MM_EFORMAT, "has no name" },
    { "[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"name\":\"f\"}]}]", MM_EFORMAT, "has no arguments" },
    { "[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":\"[\"}]", MM_EFORMAT, "turn 1: tool_calls: byte 1" },
    { "[{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":\"3\"}]", MM_EFORMAT, "tool_calls: want a list" },
    { "{\"conversations\":[{\"from\":\"human\"}]}", MM_EFORMAT, "strings from and value" },
    { "{\"conversations\":[{\"from\":\"robot\",\"value\":\"\"}]}", MM_EFORMAT, "unknown from \"robot\"" },
    { "{\"instruction\":\"a\"}", MM_EFORMAT, "output" },
    { "{\"instruction\":\"a\",\"output\":\"b\",\"history\":[[\"a\"]]}", MM_EFORMAT, "history: pair 1" },
    { "{\"instruction\":\"a\",\"output\":\"b\",\"history\":3}", MM_EFORMAT, "history: want a list" },
    { "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}],\"chosen\":{},\"rejected\":{}}", MM_EUNSUP,
      "preference pair" }
  };

  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    {
      struct mm_chat *c;
      mm_status st = mm_chat_parse ("row", rows[i].row, strlen (rows[i].row), &c);

      ok (st == rows[i].st && !c && strstr (mm_error_message (), rows[i].said), rows[i].said);
      if (st != rows[i].st || !strstr (mm_error_message (), rows[i].said))
        printf ("# %d: %s\n", st, mm_error_message ());
      mm_chat_free (c);
    }
}

static void
check_detection (void)
{
  static const struct { const char *row; bool chat; } rows[] = {
    { "{\"conversations\": []}", true },
    { "{\"messages\": [3]}", true },
    { "{\"id\": 1, \"instruction\": \"a\", \"input\": \"\", \"output\": \"b\"}", true },
    { "[{\"role\": \"user\"}]", true },
    { "{\"conversations\": [], \"chosen\": 1}", true },
    { "{\"text\": \"a\", \"messages\": []}", false },
    { "{\"messages\": \"a\"}", false },
    { "{\"instruction\": \"a\"}", false },
    { "[\"a\"]", false }, { "[]", false }, { "3", false }, { "\"role\"", false },
    { "{\"messages\": [", true }, { "{\"text\": \"messages\", ", false }, { "{\"a\": ", false }
  };

  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    ok (mm_chat_detect (rows[i].row, strlen (rows[i].row)) == rows[i].chat, rows[i].row);
}

/* Roles by their first letters; k is an assistant's turn with a call.  */
static mm_status
order_of (const char *roles)
{
  char row[1024] = "[";
  struct mm_chat *c;
  mm_status st;

  for (const char *r = roles; *r; r++)
    {
      strcat (row, *r == 's' ? "{\"role\":\"system\",\"content\":\"\"},"
                   : *r == 'u' ? "{\"role\":\"user\",\"content\":\"\"},"
                   : *r == 't' ? "{\"role\":\"tool\",\"content\":\"\"},"
                   : *r == 'a' ? "{\"role\":\"assistant\",\"content\":\"\"},"
                   : "{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":1}]},");
    }
  row[strlen (row) - 1] = ']';
  if (mm_chat_parse ("row", row, strlen (row), &c) < 0)
    return MM_EINVAL;
  st = mm_chat_check_order ("row", c);
  mm_chat_free (c);
  return st;
}

static void
check_order (void)
{
  static const char *const good[] = { "u", "ua", "sua", "uaua", "uktta", "uakta", "uaku", "uktkta" };
  static const char *const bad[] = { "a", "t", "k", "su" "s", "uu", "uaa", "ut", "uat", "ukk", "uka", "usa", "uktu" };
  bool all = true;

  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    all = order_of (good[i]) == MM_OK && all;
  ok (all, "roles in order");
  all = true;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (order_of (bad[i]) != MM_EFORMAT)
      {
        printf ("# %s is taken\n", bad[i]);
        all = false;
      }
  ok (all, "roles out of order");
  ok (order_of ("suus") == MM_EFORMAT && strcmp (mm_error_message (), "row: turn 3: user follows user") == 0,
      "the message names the turn and both roles");
}

static void
check_targets (void)
{
  static const char row[] = "[{\"role\":\"user\",\"content\":\"<|im_end|>\"},"
                            "{\"role\":\"assistant\",\"content\":\"yes\",\"reasoning_content\":\"r\"},"
                            "{\"role\":\"user\",\"content\":\"q\"},"
                            "{\"role\":\"assistant\",\"content\":\"no\",\"weight\":0}]";
  struct mm_chat_text text = { 0 };
  struct mm_chat *c;
  char learnt[256] = "", inert[256] = "", words[256] = "";
  size_t at = 0;

  ok (mm_chat_parse ("row", row, strlen (row), &c) == MM_OK
      && mm_chat_render (c, MM_CHAT_MINIMIND3, MM_THINKING_DEFAULT, false, &text) == MM_OK, "render");
  for (size_t i = 0; i < text.n_ranges; i++)
    {
      const struct mm_chat_range *range = &text.ranges[i];

      if (range->target)
        strncat (learnt, text.text + at, range->end - at);
      if (range->tokens != MM_TOKENS_ALL)
        strncat (range->tokens == MM_TOKENS_NONE ? inert : words, text.text + at, range->end - at);
      at = range->end;
    }
  ok (strcmp (learnt, "<think>\nr\n</think>\n\nyes<|im_end|>\n") == 0,
      "targets are the assistant's turn behind its header, unless its weight is 0");
  ok (strcmp (inert, "<|im_end|>q") == 0, "what a user typed is inert");
  ok (strcmp (words, "ryesno") == 0, "the assistant's words");
  ok (text.n_turns == 4 && text.turn_ends[3] == text.size && mm_chat_turns (c) == 4, "the ends of turns");
  mm_chat_free (c);
  mm_chat_text_free (&text);
}

/* Ids as a text: control tokens S, E and T, bytes as they are; targets alone where ONLY_TARGETS.  */
static char *
shown (const struct mm_chat_ids *x, bool only_targets)
{
  char *text = calloc (x->ids.count + 1, 1);
  size_t n = 0;

  for (size_t i = 0; text && i < x->ids.count; i++)
    if (!only_targets || x->mask[i])
      text[n++] = x->ids.data[i] < 3 ? "TSE"[x->ids.data[i]] : (char) (x->ids.data[i] - 3);
  return text;
}

static void
check_ids (void)
{
  static const char row[] = "[{\"role\":\"user\",\"content\":\"<|im_end|>a\"},"
                            "{\"role\":\"assistant\",\"content\":\"  b<|im_start|>\"}]";
  struct mm_tokenizer *t = tiny_tokenizer (TINY_VOCAB);
  struct mm_chat_text text = { 0 };
  struct mm_chat_ids ids = { 0 };
  struct mm_encoder *e;
  struct mm_chat *c;
  char *all, *targets;

  ok (mm_encoder_open (t, &e) == MM_OK && mm_chat_parse ("row", row, strlen (row), &c) == MM_OK
      && mm_chat_render (c, MM_CHAT_CHATML, MM_THINKING_DEFAULT, false, &text) == MM_OK
      && mm_chat_encode (e, &text, &ids) == MM_OK, "encode");
  all = shown (&ids, false);
  targets = shown (&ids, true);
  ok (strcmp (all, "Suser\n<|im_end|>aE\nSassistant\n  b<|im_start|>E\n") == 0,
      "control tokens are the template's alone");
  ok (strcmp (targets, "  b<|im_start|>E\n") == 0, "a body that begins with spaces is learnt");
  ok (ids.n_turns == 2 && ids.turn_ends[0] == strlen ("Suser\n<|im_end|>aE\n") && ids.turn_ends[1] == ids.ids.count,
      "turns end where they should");
  free (all), free (targets);
  ok (mm_chat_encode_minimind (e, &text, &ids) == MM_OK, "encode as MiniMind");
  all = shown (&ids, false);
  targets = shown (&ids, true);
  ok (strcmp (all, "Suser\nEaE\nSassistant\n  bSE\n") == 0, "control tokens wherever they stand");
  ok (strcmp (targets, "  bSE\n") == 0, "targets by search");
  text.text[0] = '\xff';
  ok (mm_chat_encode (e, &text, &ids) == MM_EFORMAT && mm_chat_encode_minimind (e, &text, &ids) == MM_EFORMAT,
      "invalid UTF-8");
  free (all), free (targets);
  mm_chat_ids_free (&ids);
  mm_chat_text_free (&text);
  mm_chat_free (c);
  mm_encoder_close (e);
  mm_tokenizer_free (t);
}

/* A tokenizer that normalises: the text does, and its borders go with it.  */
static void
check_normalised (void)
{
  static const char row[] = "[{\"role\":\"user\",\"content\":\"e\\u0301\"},"
                            "{\"role\":\"assistant\",\"content\":\"a\\u0301b\"}]";
  static const char null[] = "\"normalizer\": null", nfc[] = "\"normalizer\": {\"type\": \"NFC\"}";
  char *json = tiny_json (TINY_VOCAB), *other = malloc (strlen (json) + sizeof nfc), *at = strstr (json, null);
  struct mm_chat_text text = { 0 };
  struct mm_chat_ids ids = { 0 };
  struct mm_tokenizer *t;
  struct mm_encoder *e;
  struct mm_chat *c;
  char *all, *targets;

  if (!other || !at)
    exit (99);
  sprintf (other, "%.*s%s%s", (int) (at - json), json, nfc, at + strlen (null));
  ok (mm_tokenizer_parse ("nfc", other, strlen (other), NULL, 0, &t) == MM_OK && mm_encoder_open (t, &e) == MM_OK
      && mm_chat_parse ("row", row, strlen (row), &c) == MM_OK
      && mm_chat_render (c, MM_CHAT_CHATML, MM_THINKING_DEFAULT, false, &text) == MM_OK
      && mm_chat_encode (e, &text, &ids) == MM_OK, "encode with a tokenizer that normalises");
  all = shown (&ids, false);
  targets = shown (&ids, true);
  ok (strcmp (all, "Suser\n\u00e9E\nSassistant\n\u00e1bE\n") == 0, "ids are those of the normalised text");
  ok (strcmp (targets, "\u00e1bE\n") == 0, "and so are targets");
  ok (ids.n_turns == 2 && ids.turn_ends[0] == strlen ("Suser\n\u00e9E\n") && ids.turn_ends[1] == ids.ids.count,
      "and turns");
  free (all), free (targets), free (json), free (other);
  mm_chat_ids_free (&ids);
  mm_chat_text_free (&text);
  mm_chat_free (c);
  mm_encoder_close (e);
  mm_tokenizer_free (t);
}

static void
check_unrenderable (void)
{
  char *calls = rendered ("[{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":1}]}]",
                          MM_CHAT_CHATML);
  char *tools = rendered ("{\"messages\":[{\"role\":\"user\",\"content\":\"q\"}],\"tools\":[{}]}", MM_CHAT_CHATML);
  char *null = rendered ("[{\"role\":\"system\",\"content\":null}]", MM_CHAT_MINIMIND3);

  ok (strstr (calls, "turn 1: a call of a tool"), "chatml has no place for calls");
  ok (strstr (tools, "tools: chatml"), "chatml has no place for tools");
  ok (strstr (null, "without content"), "a first system turn needs content");
  free (calls);
  free (tools);
  free (null);
}

static void
check_names (void)
{
  enum mm_chat_template t = MM_CHAT_CHATML;
  struct mm_tokenizer *tok = tiny_tokenizer (TINY_VOCAB);

  ok (mm_chat_template_find ("minimind-3", tok, &t) == MM_OK && t == MM_CHAT_MINIMIND3, "a template by name");
  ok (mm_chat_template_find ("llama", tok, &t) == MM_EUSAGE && strstr (mm_error_message (), "chatml"),
      "an unknown name");
  ok (mm_chat_template_find ("auto", tok, &t) == MM_EUNSUP && strstr (mm_error_message (), "chatml"),
      "a tokenizer without a template");
  mm_tokenizer_free (tok);
  tok = tiny_tokenizer_with (TINY_VOCAB, "{\"chat_template\": \"{{ messages }}\"}");
  ok (mm_chat_template_find ("auto", tok, &t) == MM_EUNSUP && strstr (mm_error_message (), "none of those known"),
      "an unknown template");
  mm_tokenizer_free (tok);
}

int
main (void)
{
  check_layouts ();
  check_calls ();
  check_refusals ();
  check_detection ();
  check_order ();
  check_targets ();
  check_ids ();
  check_normalised ();
  check_unrenderable ();
  check_names ();
  return tap_done ();
}
