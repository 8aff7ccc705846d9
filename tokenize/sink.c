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
  bool wide;                    /* integers of 32 bits, not 16 */
  bool in_line;                 /* text: the line has an id */
  uint64_t count;
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
  s->wide = mm_tokenizer_vocab_size (source->t) > 1 << 16;
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

static char *
put_integers (const struct sink *s, char *out, const uint32_t *ids, size_t count)
{
  for (size_t i = 0; i < count; i++)
    for (int byte = 0; byte < (s->wide ? 4 : 2); byte++)
      *out++ = (char) (ids[i] >> 8 * byte & 0xff);
  return out;
}

mm_status
sink_add (struct sink *s, const uint32_t *ids, size_t count)
{
  mm_status st = MM_OK;

  s->count += count;
  if (s->writer)
    return mm_tokens_add (s->writer, ids, count);
  while (s->out && st == MM_OK && count > 0)
    {
      size_t n = count < BLOCK ? count : BLOCK;
      char *end = s->kind == OUTPUT_TEXT ? put_text (s, s->block, ids, n)
                  : put_integers (s, s->block, ids, n);

      st = mm_output_write (s->out, s->block, (size_t) (end - s->block));
      ids += n;
      count -= n;
    }
  return st;
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
  s->count += x->count;
  return mm_tokens_add_conversation (s->writer, x->ids, x->mask, x->count, x->turn_ends, x->n_turns);
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
  free (s);
}
