/* tiny.h -- tokenizers made by a formula, for the tests of what travels with one.
   SPDX-License-Identifier: Apache-2.0

   Ids: 0 <|endoftext|> (pad), 1 <|im_start|> (bos), 2 <|im_end|> (eos), then the 256 bytes, then
   words that no merge makes, up to the size asked for.  */

#ifndef TINY_H
#define TINY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/tokenizer.h>

enum { TINY_VOCAB = 259 };

static const char tiny_config[] =
  "{\"bos_token\": \"<|im_start|>\", \"eos_token\": \"<|im_end|>\", \"pad_token\": \"<|endoftext|>\"}";

/* The character that stands for byte B in a byte-level vocabulary.  */
static inline unsigned
tiny_character (unsigned b)
{
  unsigned shifted = 0;

  for (unsigned i = 0; i <= b; i++)
    {
      int shown = (i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174;

      if (i == b)
        return shown ? b : 256 + shifted;
      shifted += !shown;
    }
  return 0;
}

static inline char *
tiny_json (uint32_t vocab_size)
{
  static const char *const special[] = { "<|endoftext|>", "<|im_start|>", "<|im_end|>" };
  size_t room = 4096 + 32 * (size_t) vocab_size, n = 0;
  char *s = malloc (room);

  if (!s)
    exit (99);
  n += sprintf (s + n, "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, "
                "\"added_tokens\": [");
  for (int i = 0; i < 3; i++)
    n += sprintf (s + n, "%s{\"id\": %d, \"content\": \"%s\", \"single_word\": false, \"lstrip\": false, "
                  "\"rstrip\": false, \"normalized\": false, \"special\": true}", i ? ", " : "", i,
                  special[i]);
  n += sprintf (s + n, "], \"normalizer\": null, \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
                "\"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": true}, "
                "\"post_processor\": null, \"decoder\": {\"type\": \"ByteLevel\", "
                "\"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": true}, "
                "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, "
                "\"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, "
                "\"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": false, \"vocab\": {");
  for (int i = 0; i < 3; i++)
    n += sprintf (s + n, "\"%s\": %d, ", special[i], i);
  for (unsigned b = 0; b < 256; b++)
    n += sprintf (s + n, "%s\"\\u%04x\": %u", b ? ", " : "", tiny_character (b), b + 3);
  for (uint32_t id = TINY_VOCAB; id < vocab_size; id++)
    n += sprintf (s + n, ", \"word%u\": %u", (unsigned) id, (unsigned) id);
  sprintf (s + n, "}, \"merges\": []}}");
  return s;
}

/* A tokenizer of VOCAB_SIZE with CONFIG (may be NULL).  */
static inline struct mm_tokenizer *
tiny_tokenizer_with (uint32_t vocab_size, const char *config)
{
  char *json = tiny_json (vocab_size);
  struct mm_tokenizer *t;

  if (mm_tokenizer_parse ("tiny", json, strlen (json), config, config ? strlen (config) : 0, &t) < 0)
    {
      fprintf (stderr, "%s\n", mm_error_message ());
      exit (99);
    }
  free (json);
  return t;
}

static inline struct mm_tokenizer *
tiny_tokenizer (uint32_t vocab_size)
{
  return tiny_tokenizer_with (vocab_size, tiny_config);
}

#endif /* TINY_H */
