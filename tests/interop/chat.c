/* chat.c -- conversations against what transformers renders (make-chat-goldens.py).
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <minimind/chat.h>
#include <minimind/files.h>
#include <minimind/hash.h>

#include "../tap.h"

static enum mm_thinking
thinking_of (const char *prompt)
{
  return strcmp (prompt, "on") == 0 ? MM_THINKING_ON
         : strcmp (prompt, "off") == 0 ? MM_THINKING_OFF : MM_THINKING_DEFAULT;
}

/* Is TEXT what WANT says, in full or by the start of its hash?  */
static bool
agrees (const struct mm_chat_text *text, const char *want, bool is_short)
{
  char sha256[MM_SHA256_TEXT];

  if (!is_short)
    return text->size == strlen (want) && memcmp (text->text, want, text->size) == 0;
  return mm_sha256_bytes (text->text, text->size, sha256) == MM_OK
         && strncmp (sha256, want, strlen (want)) == 0;
}

/* Ranges cover the text, neighbours differ, turns end inside it.  */
static bool
well_made (const struct mm_chat_text *text)
{
  bool good = text->size == 0 || (text->n_ranges && text->ranges[text->n_ranges - 1].end == text->size);

  for (size_t i = 1; i < text->n_ranges; i++)
    good = good && text->ranges[i - 1].end < text->ranges[i].end
           && (text->ranges[i - 1].tokens != text->ranges[i].tokens
               || text->ranges[i - 1].target != text->ranges[i].target);
  for (size_t i = 1; i < text->n_turns; i++)
    good = good && text->turn_ends[i - 1] < text->turn_ends[i];
  return good && (text->n_turns == 0 || text->turn_ends[text->n_turns - 1] <= text->size);
}

/* The hash over ids and targets under all templates, as of one kind of encoding.  */
struct encoding
{
  const char *kind;
  mm_status (*encode) (struct mm_encoder *, const struct mm_chat_text *, struct mm_chat_ids *);
  struct mm_sha256 *hash;
};

/* Add the ids of TEXT; turns end inside them.  */
static bool
add_ids (struct encoding *x, struct mm_encoder *e, const struct mm_chat_text *text)
{
  struct mm_chat_ids ids = { 0 };
  bool good = x->encode (e, text, &ids) == MM_OK && ids.n_turns == text->n_turns;

  if (good)
    {
      mm_sha256_add (x->hash, ids.ids.data, ids.ids.count * sizeof *ids.ids.data);
      mm_sha256_add (x->hash, ids.mask, ids.ids.count);
    }
  mm_chat_ids_free (&ids);
  return good;
}

/* Does C render as LINE says under every template, and into ids that X hashes?  */
static bool
check_texts (const struct mm_chat *c, const json_t *line, struct mm_encoder *e, struct encoding x[2],
             struct mm_chat_text *text)
{
  const char *prompt = json_string_value (json_object_get (line, "prompt"));
  bool is_short = json_is_true (json_object_get (line, "short"));

  for (int t = 0; mm_chat_template_name ((enum mm_chat_template) t); t++)
    {
      const char *name = mm_chat_template_name ((enum mm_chat_template) t);
      const char *want = json_string_value (json_object_get (json_object_get (line, "texts"), name));

      /* What transformers fails on may be fine here: null content of chatml's turns is empty.  */
      if (!want)
        continue;
      if (mm_chat_render (c, (enum mm_chat_template) t, thinking_of (prompt), *prompt != '\0', text) < 0
          || !agrees (text, want, is_short) || !well_made (text))
        {
          printf ("# %s, prompt \"%s\":\n# made %.*s\n# want %s\n", name, prompt, (int) text->size, text->text, want);
          return false;
        }
      if (!add_ids (&x[0], e, text) || !add_ids (&x[1], e, text))
        return false;
    }
  return true;
}

/* Is the case of LINE as transformers has it: texts, ids and targets?  */
static bool
check_case (struct mm_encoder *e, const json_t *line, struct mm_chat_text *text)
{
  struct encoding x[2] = { { "minimind", mm_chat_encode_minimind, NULL }, { "ours", mm_chat_encode, NULL } };
  char *row = json_dumps (json_object_get (line, "row"), 0), sha256[MM_SHA256_TEXT];
  struct mm_chat *c;
  bool good = mm_chat_parse ("case", row, strlen (row), &c) == MM_OK && mm_sha256_open (&x[0].hash) == MM_OK
              && mm_sha256_open (&x[1].hash) == MM_OK && check_texts (c, line, e, x, text);

  for (int i = 0; i < 2; i++)
    {
      const char *want = json_string_value (json_object_get (json_object_get (line, "ids"), x[i].kind));

      mm_sha256_close (x[i].hash, sha256);
      good = good && (!want || strncmp (sha256, want, strlen (want)) == 0);
    }
  if (!good)
    printf ("# %s\n", row);
  mm_chat_free (c);
  free (row);
  return good;
}

int
main (void)
{
  const char *srcdir = getenv ("srcdir");
  struct mm_chat_text text = { 0 };
  char path[4096], *cases, *line;
  size_t size, n = 0, n_bad = 0, n_ids = 0;
  struct mm_tokenizer *t;
  struct mm_encoder *e;

  snprintf (path, sizeof path, "%s/tests/interop/chat/cases.jsonl", srcdir ? srcdir : ".");
  if (mm_read_file (path, 1 << 22, &cases, &size) < 0)
    {
      printf ("Bail out! %s\n", mm_error_message ());
      return 1;
    }
  snprintf (path, sizeof path, "%s/tests/interop/text/gpt2-added.json", srcdir ? srcdir : ".");
  if (mm_tokenizer_load (path, &t) < 0 || mm_encoder_open (t, &e) < 0)
    {
      printf ("Bail out! %s\n", mm_error_message ());
      return 1;
    }
  for (line = cases; *line; n++)
    {
      char *end = strchr (line, '\n');
      json_t *value = json_loadb (line, (size_t) (end - line), 0, NULL);

      n_bad += !check_case (e, value, &text);
      n_ids += json_is_string (json_object_get (json_object_get (value, "ids"), "ours"));
      json_decref (value);
      line = end + 1;
    }
  ok (n > 400 && n_ids > 60, "the cases are there");
  ok (n_bad == 0, "texts and ids as transformers makes them, targets as they should be");
  mm_encoder_close (e);
  mm_tokenizer_free (t);
  mm_chat_text_free (&text);
  free (cases);
  return tap_done ();
}
