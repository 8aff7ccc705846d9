/* decode_ids.c -- ids in lines of numbers, or as raw integers, back into text.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/input.h>
#include <minimind/log.h>

#include "decode.h"

enum { BLOCK = 1 << 16 };

struct reader
{
  struct decoder *d;
  const struct mm_tokenizer *t;
  const struct tokenize_frame *frame;
  struct mm_input *in;
  uint64_t line;                /* of text, from 1 */
  uint64_t count;               /* ids of raw integers so far */
  bool in_document;
  bool held;                    /* ID waits: is it the last of its document? */
  uint32_t id;

  /* The number under way.  */
  bool in_number;
  uint64_t number;
  unsigned n_bytes;             /* of a raw integer */
};

static mm_status
end_document (struct reader *r)
{
  mm_status st = MM_OK;

  if (r->held && (int32_t) r->id != r->frame->eos)
    st = decoder_put (r->d, r->t, &r->id, 1);
  r->held = false;
  if (st == MM_OK && r->in_document)
    st = decoder_end (r->d);
  r->in_document = false;
  return st;
}

static mm_status
fail_id (const struct reader *r, uint64_t id)
{
  const char *name = mm_input_name (r->in);

  if (r->d->c->decode_kind == OUTPUT_TEXT)
    return mm_fail (MM_EFORMAT, "%s: line %" PRIu64 ": %" PRIu64 " is no id of the tokenizer", name, r->line, id);
  return mm_fail (MM_EFORMAT, "%s: integer %" PRIu64 " is %" PRIu64 ", no id of the tokenizer", name, r->count, id);
}

static mm_status
take_id (struct reader *r, uint64_t id)
{
  bool first = !r->in_document;
  size_t size;
  mm_status st = MM_OK;

  if (id > UINT32_MAX || !mm_tokenizer_bytes (r->t, (uint32_t) id, &size))
    return fail_id (r, id);
  if (first)
    st = decoder_begin (r->d);
  r->in_document = true;
  if (st == MM_OK && r->held)
    st = decoder_put (r->d, r->t, &r->id, 1);
  r->held = !(first && (int32_t) id == r->frame->bos);
  r->id = (uint32_t) id;
  if (st == MM_OK && r->d->c->decode_kind == OUTPUT_RAW && (int32_t) id == r->frame->eos)
    st = end_document (r);
  return st;
}

/* ---- bytes ---- */

static mm_status
end_number (struct reader *r)
{
  bool any = r->in_number;

  r->in_number = false;
  return any ? take_id (r, r->number) : MM_OK;
}

static mm_status
take_text (struct reader *r, const char *text, size_t size)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < size; i++)
    if (text[i] >= '0' && text[i] <= '9')
      {
        r->number = (r->in_number ? 10 * r->number : 0) + (uint64_t) (text[i] - '0');
        r->in_number = true;
        if (r->number > UINT32_MAX)
          return fail_id (r, r->number);
      }
    else if (strchr (" ,\t\r\n", text[i]) && text[i])
      {
        st = end_number (r);
        if (st == MM_OK && text[i] == '\n')
          st = end_document (r);
        r->line += text[i] == '\n';
      }
    else
      return mm_fail (MM_EFORMAT, "%s: line %" PRIu64 ": want ids in decimal, found \"%.1s\"", mm_input_name (r->in),
                      r->line, text + i);
  return st;
}

static mm_status
take_raw (struct reader *r, const char *bytes, size_t size)
{
  unsigned width = mm_tokenizer_vocab_size (r->t) > 1 << 16 ? 4 : 2;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < size; i++)
    {
      r->number = (r->n_bytes ? r->number : 0) | (uint64_t) (unsigned char) bytes[i] << 8 * r->n_bytes;
      if (++r->n_bytes < width)
        continue;
      r->n_bytes = 0;
      st = take_id (r, r->number);
      r->count++;
    }
  return st;
}

static mm_status
end_member (struct reader *r)
{
  mm_status st = end_number (r);

  if (st == MM_OK && r->n_bytes > 0)
    st = mm_fail (MM_EFORMAT, "%s: ends within an integer", mm_input_name (r->in));
  return st < 0 ? st : end_document (r);
}

static mm_status
take_member (struct reader *r)
{
  bool text = r->d->c->decode_kind == OUTPUT_TEXT;
  char block[BLOCK];
  size_t got;
  mm_status st;

  r->line = 1;
  r->count = 0;
  do
    {
      uint64_t done, total;

      st = mm_input_read (r->in, block, sizeof block, &got);
      if (st == MM_OK)
        st = text ? take_text (r, block, got) : take_raw (r, block, got);
      mm_input_progress (r->in, &done, &total);
      if (mm_progress_due () && total)
        mm_progress ("%s: %.0f%%", mm_input_name (r->in), 100.0 * (double) done / (double) total);
    }
  while (st == MM_OK && got > 0);
  return st < 0 ? st : end_member (r);
}

mm_status
decode_ids (struct decoder *d, const struct mm_tokenizer *t, const struct tokenize_frame *frame, const char *path)
{
  struct reader r = { .d = d, .t = t, .frame = frame };
  bool more = true;
  mm_status st = mm_input_open (path, &r.in);

  while (st == MM_OK && more)
    {
      st = mm_input_next (r.in, &more);
      if (st == MM_OK && more)
        st = take_member (&r);
    }
  mm_input_close (r.in);
  return st;
}
