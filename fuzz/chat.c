/* chat.c -- fuzzing target: a row of chat data, read, rendered and encoded; its first byte chooses how.
   SPDX-License-Identifier: Apache-2.0

   What is read renders to ranges that cover the text; its ids are the text, no special token stands where
   others typed, and a token is a target when one of its bytes is.  */

#include <config.h>

#include <string.h>

#include <minimind/chat.h>

#include "../tests/unit/tiny.h"
#include "fuzz.h"

/* A tokenizer of bytes that knows <think> too, and with NFC normalises.  */
static struct mm_tokenizer *
make_tokenizer (bool nfc)
{
  static const char think[] = "{\"id\": 259, \"content\": \"<think>\", \"single_word\": false, \"lstrip\": false, "
    "\"rstrip\": false, \"normalized\": false, \"special\": false}, ";
  static const char mark[] = "\"added_tokens\": [", none[] = "\"normalizer\": null";
  char *json = tiny_json (TINY_VOCAB), *added = strstr (json, mark) + sizeof mark - 1, *normal = strstr (json, none);
  size_t size = strlen (json) + 1024;
  char *made = malloc (size);
  struct mm_tokenizer *t;

  if (!made)
    abort ();
  snprintf (made, size, "%.*s%s%.*s\"normalizer\": %s%s", (int) (added - json), json, think, (int) (normal - added),
            added, nfc ? "{\"type\": \"NFC\"}" : "null", normal + sizeof none - 1);
  if (mm_tokenizer_parse ("tiny", made, strlen (made), NULL, 0, &t) < 0)
    abort ();
  free (json);
  free (made);
  return t;
}

static void
check_text (const struct mm_chat_text *text)
{
  size_t at = 0;

  for (size_t i = 0; i < text->n_ranges; at = text->ranges[i++].end)
    if (text->ranges[i].end <= at)
      abort ();
  if (at != text->size)
    abort ();
  at = 0;
  for (size_t i = 0; i < text->n_turns; at = text->turn_ends[i++])
    if (text->turn_ends[i] <= at || text->turn_ends[i] > text->size)
      abort ();
}

/* Do ids stand for the bytes of TEXT, labelled as its ranges are?  */
static void
check_bytes (const struct mm_tokenizer *t, const struct mm_chat_text *text, const struct mm_chat_ids *x)
{
  size_t at = 0, range = 0;

  for (size_t i = 0; i < x->ids.count; i++)
    {
      bool special = mm_tokenizer_is_special (t, x->ids.data[i]), target = false;
      size_t size;
      const char *bytes = mm_tokenizer_bytes (t, x->ids.data[i], &size);

      if (size > text->size - at || memcmp (bytes, text->text + at, size) != 0
          || (special && text->ranges[range].tokens != MM_TOKENS_ALL))
        abort ();
      for (at += size; ; range++)
        {
          target |= text->ranges[range].target;
          if (text->ranges[range].end >= at)
            break;
        }
      if (x->mask[i] != target)
        abort ();
      range += text->ranges[range].end == at;
    }
  if (at != text->size)
    abort ();
}

static void
check_ids (const struct mm_chat_text *text, const struct mm_chat_ids *x)
{
  size_t at = 0;

  if (x->n_turns != text->n_turns)
    abort ();
  for (size_t i = 0; i < x->n_turns; at = x->turn_ends[i++])
    if (x->turn_ends[i] <= at || x->turn_ends[i] > x->ids.count)
      abort ();
  for (size_t i = 0; i < x->ids.count; i++)
    if (x->mask[i] > 1)
      abort ();
}

static void
encode (const struct mm_chat *c, uint8_t how)
{
  static struct mm_tokenizer *tokenizers[2];
  static struct mm_encoder *encoders[2];
  static struct mm_chat_text text;
  static struct mm_chat_ids ids;
  bool nfc = how >> 6 & 1, minimind = how >> 5 & 1;

  if (!tokenizers[nfc])
    {
      tokenizers[nfc] = make_tokenizer (nfc);
      if (mm_encoder_open (tokenizers[nfc], &encoders[nfc]) < 0)
        abort ();
    }
  if (mm_chat_render (c, (enum mm_chat_template) (how % 3), (enum mm_thinking) (how >> 3 & 3) % 3, how >> 2 & 1,
                      &text) < 0)
    return;
  check_text (&text);
  if ((minimind ? mm_chat_encode_minimind : mm_chat_encode) (encoders[nfc], &text, &ids) < 0)
    abort ();
  check_ids (&text, &ids);
  if (!nfc && !minimind)
    check_bytes (tokenizers[nfc], &text, &ids);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const char *json = (const char *) data + 1;
  struct mm_chat *c;

  if (size-- == 0)
    return 0;
  if (mm_chat_parse ("row", json, size, &c) < 0)
    {
      if (!*mm_error_message ())
        abort ();
      return 0;
    }
  if (mm_chat_turns (c) == 0 || (!mm_chat_detect (json, size) && !memmem (json, size, "text", 4)))
    abort ();
  if (mm_chat_check_order ("row", c) < 0 && !strstr (mm_error_message (), "turn"))
    abort ();
  encode (c, data[0]);
  mm_chat_free (c);
  return 0;
}
