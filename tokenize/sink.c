/* sink.c -- ids as a token file, as text or as raw integers.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>

#include <minimind/files.h>
#include <minimind/memory.h>
#include <minimind/tokens.h>

#include "sink.h"

enum
{
  BLOCK = 4096,                 /* ids put into bytes at a time */
  DIGITS = 11                   /* of an id and the blank before it, at most */
};

struct sink
{
  enum tokenize_output kind;
  struct mm_tokens_writer *writer;      /* a token file, or NULL */
  struct mm_output *out;        /* text and integers, or NULL */
  size_t width;                 /* bytes of an id */
  bool in_line;                 /* text: the line has an id */
  uint64_t count;
  uint32_t *ids;                /* of a conversation */
  size_t ids_capacity;
  char block[BLOCK * DIGITS];
};

mm_status
sink_open (const struct tokenize_config *c, const struct source *source, struct sink **out)
{
  const struct mm_tokens_chat chat = { mm_chat_template_name (source->rows.template), source->rows.minimind };
  struct sink *s;
  mm_status st = mm_alloc ("ids", 1, sizeof *s, &s);

  *out = NULL;
  if (st < 0)
    return st;
  s->kind = c->output_kind;
  s->width = mm_ids_width (mm_tokenizer_vocab_size (source->t));
  if (c->count)
    ;
  else if (s->kind == OUTPUT_TOKENS)
    st = mm_tokens_create_chat (c->output, c->force, source->t, source->chat ? &chat : NULL, &s->writer);
  else
    st = mm_output_open (c->output, c->force, &s->out);
  if (st < 0)
    free (s);
  else
    *out = s;
  return st;
}

void
sink_expect (struct sink *s, uint64_t documents)
{
  if (s->writer)
    mm_tokens_expect (s->writer, documents);
}

/* ID in decimal to OUT; returns the end.  */
static char *
put_decimal (char *out, uint32_t id)
{
  char digits[DIGITS];
  int n = 0;

  do
    digits[n++] = (char) ('0' + id % 10);
  while ((id /= 10) > 0);
  while (n > 0)
    *out++ = digits[--n];
  return out;
}

static char *
put_text (struct sink *s, char *out, const uint32_t *ids, size_t count)
{
  for (size_t i = 0; i < count; i++)
    {
      if (s->in_line)
        *out++ = ' ';
      s->in_line = true;
      out = put_decimal (out, ids[i]);
    }
  return out;
}

mm_status
sink_add (struct sink *s, const void *packed, size_t count)
{
  const uint8_t *at = packed;
  mm_status st = MM_OK;

  s->count += count;
  if (s->writer)
    return mm_tokens_add_packed (s->writer, packed, count);
  if (!s->out || s->kind == OUTPUT_RAW)
    return s->out ? mm_output_write (s->out, packed, count * s->width) : MM_OK;
  for (size_t n; st == MM_OK && count > 0; at += n * s->width, count -= n)
    {
      uint32_t ids[BLOCK];

      n = count < BLOCK ? count : BLOCK;
      mm_ids_unpack (at, n, s->width, ids);
      st = mm_output_write (s->out, s->block, (size_t) (put_text (s, s->block, ids, n) - s->block));
    }
  return st;
}

mm_status
sink_add_one (struct sink *s, uint32_t id)
{
  uint8_t packed[4];

  mm_ids_pack (&id, 1, s->width, packed);
  return sink_add (s, packed, 1);
}

mm_status
sink_end_document (struct sink *s)
{
  s->in_line = false;
  if (s->writer)
    return mm_tokens_end_document (s->writer);
  return s->out && s->kind == OUTPUT_TEXT ? mm_output_write (s->out, "\n", 1) : MM_OK;
}

mm_status
sink_add_conversation (struct sink *s, const struct batch_ids *x)
{
  mm_status st;

  if (!s->writer)
    {
      st = sink_add (s, x->ids, x->count);
      return st < 0 ? st : sink_end_document (s);
    }
  st = mm_grow ("ids", &s->ids, &s->ids_capacity, x->count, sizeof *s->ids);
  if (st < 0)
    return st;
  mm_ids_unpack (x->ids, x->count, s->width, s->ids);
  s->count += x->count;
  return mm_tokens_add_conversation (s->writer, s->ids, x->mask, x->count, x->turn_ends, x->n_turns);
}

uint64_t
sink_count (const struct sink *s)
{
  return s->count;
}

mm_status
sink_commit (struct sink *s)
{
  mm_status st = s->writer ? mm_tokens_commit (s->writer) : s->out ? mm_output_commit (s->out) : MM_OK;

  free (s->ids);
  free (s);
  return st;
}

void
sink_abort (struct sink *s)
{
  if (!s)
    return;
  mm_tokens_abort (s->writer);
  mm_output_abort (s->out);
  free (s->ids);
  free (s);
}
