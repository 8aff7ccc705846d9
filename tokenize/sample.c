/* sample.c -- show how the first documents are cut into tokens.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "tokenize.h"

/* TEXT between quotes, as C would write it: what is not UTF-8, which tokens often are not, in
   hexadecimal.  */
static void
print_quoted (const char *text, size_t size)
{
  static const char from[] = "\n\t\r\"\\", to[] = "ntr\"\\";

  putchar ('"');
  while (size > 0)
    {
      const char *known = *text ? strchr (from, *text) : NULL;
      size_t n = 1;

      if (known)
        printf ("\\%c", to[known - from]);
      else if ((unsigned char) *text < 0x20 || *text == 0x7f)
        printf ("\\x%02x", (unsigned char) *text);
      else
        {
          while (n < 4 && n < size && ((unsigned char) text[n] & 0xc0) == 0x80)
            n++;
          if (mm_utf8_check (text, n, NULL) == n)
            fwrite (text, 1, n, stdout);
          else
            {
              n = 1;
              printf ("\\x%02x", (unsigned char) *text);
            }
        }
      text += n;
      size -= n;
    }
  putchar ('"');
}

static void
print_document (const struct mm_tokenizer *t, uint64_t number, size_t bytes,
                const struct mm_ids *ids)
{
  printf ("document %" PRIu64 ": %s, %s\n", number, MM_COUNT (bytes, "byte"), MM_COUNT (ids->count, "token"));
  for (size_t i = 0; i < ids->count; i++)
    {
      size_t size;
      const char *text = mm_tokenizer_bytes (t, ids->data[i], &size);

      printf ("%8" PRIu32 "  ", ids->data[i]);
      print_quoted (text, size);
      if (mm_tokenizer_is_special (t, ids->data[i]))
        fputs ("  special", stdout);
      putchar ('\n');
    }
}

static mm_status
add_token (struct mm_ids *ids, int32_t id)
{
  mm_status st;

  if (id == MM_NO_TOKEN)
    return MM_OK;
  st = mm_grow ("ids", &ids->data, &ids->capacity, ids->count + 1, sizeof *ids->data);
  if (st == MM_OK)
    ids->data[ids->count++] = (uint32_t) id;
  return st;
}

static mm_status
show (const struct tokenize_config *c, const struct mm_tokenizer *t,
      const struct tokenize_frame *frame, struct mm_encoder *e, struct mm_documents *d)
{
  unsigned flags = c->parse_special ? MM_PARSE_SPECIAL : 0;
  struct mm_document_part part;
  struct mm_ids ids = { 0 };
  uint64_t n = 0;
  size_t bytes = 0;
  bool more = true;
  mm_status st = MM_OK;

  while (st == MM_OK && n < c->sample)
    {
      st = mm_documents_next (d, &part, &more);
      if (st < 0 || !more)
        break;
      if (part.first)
        {
          ids.count = bytes = 0;
          st = add_token (&ids, frame->bos);
        }
      if (st == MM_OK)
        st = mm_encode (e, part.text, part.size, flags, &ids);
      bytes += part.size;
      if (st == MM_OK && part.last)
        {
          st = add_token (&ids, frame->eos);
          print_document (t, ++n, bytes, &ids);
        }
    }
  free (ids.data);
  return st;
}

mm_status
tokenize_sample (const struct tokenize_config *c)
{
  struct mm_document_options options = c->documents;
  struct tokenize_cutter cutter = { .flags = c->parse_special ? MM_PARSE_SPECIAL : 0 };
  struct tokenize_frame frame;
  struct mm_documents *d = NULL;
  struct mm_encoder *e = NULL;
  struct mm_tokenizer *t = NULL;
  mm_status st = tokenize_load (c, &t, &frame);

  cutter.t = t;
  options.cut = tokenize_cut;
  options.cut_arg = &cutter;
  if (st == MM_OK)
    st = mm_documents_open (c->inputs, c->n_inputs, &options, &d);
  if (st == MM_OK)
    st = mm_encoder_open (t, &e);
  if (st == MM_OK)
    st = show (c, t, &frame, e, d);
  mm_encoder_close (e);
  mm_documents_close (d);
  mm_tokenizer_free (t);
  return st;
}
