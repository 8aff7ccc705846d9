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

/* Do ids and mask have the hash that begins with WANT?  */
static bool
same_ids (const struct mm_chat_ids *x, const char *want)
{
  struct mm_sha256 *hash;
  char sha256[MM_SHA256_TEXT];

  if (mm_sha256_open (&hash) < 0)
    return false;
  mm_sha256_add (hash, x->ids.data, x->ids.count * sizeof *x->ids.data);
  mm_sha256_add (hash, x->mask, x->ids.count);
  mm_sha256_close (hash, sha256);
  return strncmp (sha256, want, strlen (want)) == 0;
}

/* Ids and targets of TEXT against those of the case.  */
static bool
check_ids (struct mm_encoder *e, const json_t *want, const struct mm_chat_text *text)
{
  struct mm_chat_ids x = { 0 };
  const char *minimind = json_string_value (json_object_get (want, "minimind"));
  const char *ours = json_string_value (json_object_get (want, "ours"));
  bool good = true;

  if (minimind)
    good = mm_chat_encode_minimind (e, text, &x) == MM_OK && same_ids (&x, minimind) && x.n_turns == text->n_turns;
  if (ours)
    good = mm_chat_encode (e, text, &x) == MM_OK && same_ids (&x, ours) && x.n_turns == text->n_turns && good;
  mm_chat_ids_free (&x);
  return good;
}

/* Does the case of LINE render as it should under every template?  */
static bool
check_case (struct mm_encoder *e, const json_t *line, struct mm_chat_text *text)
{
  char *row = json_dumps (json_object_get (line, "row"), 0);
  const char *prompt = json_string_value (json_object_get (line, "prompt"));
  bool is_short = json_is_true (json_object_get (line, "short"));
  struct mm_chat *c;
  bool good = mm_chat_parse ("case", row, strlen (row), &c) == MM_OK;

  for (int t = 0; good && mm_chat_template_name ((enum mm_chat_template) t); t++)
    {
      const char *name = mm_chat_template_name ((enum mm_chat_template) t);
      const char *want = json_string_value (json_object_get (json_object_get (line, "texts"), name));

      /* What transformers fails on may be fine here: null content of chatml's turns is empty.  */
      if (!want)
        continue;
      good = mm_chat_render (c, (enum mm_chat_template) t, thinking_of (prompt), *prompt != '\0', text) == MM_OK
             && agrees (text, want, is_short) && well_made (text)
             && (t != MM_CHAT_MINIMIND3 || check_ids (e, json_object_get (line, "ids"), text));
      if (!good)
        printf ("# %s, prompt \"%s\": %s\n# made %.*s\n# want %s\n", name, prompt, row, (int) text->size,
                text->text, want);
    }
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
      n_ids += json_is_object (json_object_get (value, "ids"));
      json_decref (value);
      line = end + 1;
    }
  ok (n > 400 && n_ids > 100, "the cases are there");
  ok (n_bad == 0, "texts as transformers renders them, ids and targets as they should be");
  mm_encoder_close (e);
  mm_tokenizer_free (t);
  mm_chat_text_free (&text);
  free (cases);
  return tap_done ();
}
