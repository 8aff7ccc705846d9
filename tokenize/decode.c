/* decode.c -- token files back into text or JSON Lines.
   SPDX-License-Identifier: Apache-2.0

   The token that ends a document and the one that begins it are left out; special tokens
   elsewhere come as their text, and conversations as they were rendered.  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/tokens.h>

#include "decode.h"

enum { IDS = 1 << 14 };         /* read at a time */

/* ---- JSON ---- */

/* TEXT as the inside of a JSON string; what is not UTF-8 becomes U+FFFD.  Returns the bytes
   written to OUT, which has room for six times SIZE.  */
static size_t
escape (const char *text, size_t size, char *out)
{
  static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
  size_t n = 0, at = 0;

  while (at < size)
    {
      size_t valid = mm_utf8_check (text + at, size - at, NULL);

      for (size_t end = at + valid; at < end; at++)
        {
          const char *known = text[at] ? strchr (from, text[at]) : NULL;

          if (known)
            {
              out[n++] = '\\';
              out[n++] = to[known - from];
            }
          else if ((unsigned char) text[at] < 0x20)
            n += (size_t) sprintf (out + n, "\\u%04x", (unsigned char) text[at]);
          else
            out[n++] = text[at];
        }
      if (at < size)
        {
          memcpy (out + n, "\xef\xbf\xbd", 3);
          n += 3;
          /* The byte and what continues it.  */
          for (at++; at < size && ((unsigned char) text[at] & 0xc0) == 0x80; at++)
            ;
        }
    }
  return n;
}

/* Write what was decoded, but for a character cut off by its end unless ALL.  */
static mm_status
write_text (struct decoder *d, bool all)
{
  size_t size = d->size - (all ? 0 : mm_utf8_incomplete_tail (d->text, d->size));
  mm_status st;

  if (d->c->documents.format != MM_DOCUMENTS_JSONL)
    st = mm_output_write (d->out, d->text, size);
  else
    {
      st = mm_grow ("decoded text", &d->escaped, &d->escaped_capacity, 6 * size + 1, 1);
      if (st == MM_OK)
        st = mm_output_write (d->out, d->escaped, escape (d->text, size, d->escaped));
    }
  memmove (d->text, d->text + size, d->size - size);
  d->size -= size;
  return st;
}

/* ---- documents ---- */

/* What stands before a document, and behind it when FINAL.  */
static mm_status
write_frame (struct decoder *d, bool final)
{
  const struct mm_document_options *o = &d->c->documents;
  const char *field = o->field ? o->field : "text";
  mm_status st;

  if (o->format == MM_DOCUMENTS_JSONL)
    {
      if (final)
        return mm_output_write (d->out, "\"}\n", 3);
      st = mm_grow ("decoded text", &d->escaped, &d->escaped_capacity, 6 * strlen (field) + 1, 1);
      if (st == MM_OK)
        st = mm_output_write (d->out, "{\"", 2);
      if (st == MM_OK)
        st = mm_output_write (d->out, d->escaped, escape (field, strlen (field), d->escaped));
      return st < 0 ? st : mm_output_write (d->out, "\": \"", 4);
    }
  if (final || !d->any)
    return MM_OK;
  return o->delimiter ? mm_output_write (d->out, o->delimiter, o->delimiter_size)
                      : mm_output_write (d->out, "\n", 1);
}

mm_status
decoder_begin (struct decoder *d)
{
  mm_status st = write_frame (d, false);

  d->any = true;
  return st;
}

mm_status
decoder_put (struct decoder *d, const struct mm_tokenizer *t, const uint32_t *ids, size_t count)
{
  mm_status st = mm_decode (t, ids, count, false, &d->text, &d->size, &d->capacity);

  return st < 0 ? st : write_text (d, false);
}

mm_status
decoder_end (struct decoder *d)
{
  mm_status st = write_text (d, true);

  return st < 0 ? st : write_frame (d, true);
}

static mm_status
decode_tokens (struct decoder *d, struct mm_tokens *f, uint64_t first, uint64_t count)
{
  uint32_t ids[IDS];
  mm_status st = MM_OK;

  while (st == MM_OK && count > 0)
    {
      size_t n = count < IDS ? (size_t) count : IDS;

      st = mm_tokens_read (f, first, n, ids, NULL);
      if (st == MM_OK)
        st = decoder_put (d, mm_tokens_tokenizer (f), ids, n);
      first += n;
      count -= n;
    }
  return st;
}

static mm_status
decode_document (struct decoder *d, struct mm_tokens *f, uint64_t doc, int32_t bos, int32_t eos)
{
  uint64_t first, length;
  uint32_t id;
  mm_status st = mm_tokens_document (f, doc, &first, &length);

  if (st == MM_OK && length > 0)
    {
      st = mm_tokens_read (f, first + length - 1, 1, &id, NULL);
      length -= st == MM_OK && (int32_t) id == eos;
    }
  if (st == MM_OK && length > 0)
    {
      st = mm_tokens_read (f, first, 1, &id, NULL);
      if (st == MM_OK && (int32_t) id == bos)
        {
          first++;
          length--;
        }
    }
  if (st == MM_OK)
    st = decoder_begin (d);
  if (st == MM_OK)
    st = decode_tokens (d, f, first, length);
  return st < 0 ? st : decoder_end (d);
}

static mm_status
decode_file (struct decoder *d, const char *path)
{
  struct mm_tokens *f;
  const struct mm_tokenizer *t;
  bool chat;
  int32_t bos, eos;
  mm_status st = mm_tokens_open (path, &f);

  if (st < 0)
    return st;
  t = mm_tokens_tokenizer (f);
  chat = mm_tokens_chat_template (f) != NULL;
  bos = chat ? MM_NO_TOKEN : mm_tokenizer_bos (t);
  eos = d->c->eos ? mm_tokenizer_find (t, d->c->eos) : mm_tokenizer_eos (t);
  if (d->c->eos && eos == MM_NO_TOKEN)
    st = mm_fail (MM_EUSAGE, "%s: --eos: token %s is not in its vocabulary", path, d->c->eos);
  eos = chat || d->c->no_eos ? MM_NO_TOKEN : eos;
  for (uint64_t doc = 0; st == MM_OK && doc < mm_tokens_documents (f); doc++)
    {
      if (mm_progress_due ())
        mm_progress ("%s: %.0f%%", path, 100.0 * (double) doc / (double) mm_tokens_documents (f));
      st = decode_document (d, f, doc, bos, eos);
    }
  mm_progress_end ();
  mm_tokens_close (f);
  return st;
}

/* The ids of all inputs, of one tokenizer.  */
static mm_status
decode_id_files (struct decoder *d)
{
  const struct tokenize_config *c = d->c;
  struct tokenize_frame frame;
  struct mm_tokenizer *t;
  mm_status st = mm_tokenizer_load (c->tokenizer, &t);

  if (st == MM_OK)
    st = tokenize_frame_find (c, t, &frame);
  if (st == MM_OK)
    frame.bos = mm_tokenizer_bos (t);
  for (size_t i = 0; st == MM_OK && i < c->n_inputs; i++)
    st = decode_ids (d, t, &frame, c->inputs[i]);
  mm_progress_end ();
  mm_tokenizer_free (t);
  return st;
}

mm_status
tokenize_decode (const struct tokenize_config *c)
{
  struct decoder d = { .c = c };
  mm_status st = mm_output_open (c->output ? c->output : "-", c->force, &d.out);

  if (st == MM_OK && c->decode_kind != OUTPUT_TOKENS)
    st = decode_id_files (&d);
  else
    for (size_t i = 0; st == MM_OK && i < c->n_inputs; i++)
      st = decode_file (&d, c->inputs[i]);
  if (st == MM_OK)
    st = mm_output_commit (d.out);
  else
    mm_output_abort (d.out);
  free (d.text);
  free (d.escaped);
  return st;
}
