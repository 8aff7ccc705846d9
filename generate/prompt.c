/* prompt.c -- the text to go on from, as ids.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "prompt.h"

enum { PROMPT_LIMIT = 64 << 20, PIECE = 65536 };        /* bytes */

/* All of standard input but one newline at its end, which is the shell's more often than the
   text's.  */
static mm_status
read_standard_input (struct prompt *p)
{
  size_t capacity = 0, got;

  if (isatty (STDIN_FILENO))
    mm_info ("reading the prompt from standard input; end it with Ctrl-D");
  do
    {
      mm_status st = mm_grow ("prompt", &p->text, &capacity, p->size + PIECE + 1, 1);

      if (st < 0)
        return st;
      got = fread (p->text + p->size, 1, PIECE, stdin);
      p->size += got;
      if (p->size > PROMPT_LIMIT)
        return mm_fail (MM_EUSAGE, "standard input: the prompt has more than %d bytes", PROMPT_LIMIT);
    }
  while (got > 0);
  if (ferror (stdin))
    return mm_fail_errno ("standard input");
  if (p->size > 0 && p->text[p->size - 1] == '\n')
    p->size--;
  p->text[p->size] = '\0';
  return MM_OK;
}

static mm_status
read_text (const struct generate_config *c, struct prompt *p)
{
  mm_status st;

  if (!c->prompt)
    return read_standard_input (p);
  p->size = strlen (c->prompt);
  st = mm_alloc ("prompt", p->size + 1, 1, &p->text);
  if (st >= 0)
    memcpy (p->text, c->prompt, p->size);
  return st;
}

static mm_status
encode (const struct generate_config *c, const struct mm_tokenizer *t, const struct prompt *p,
        struct mm_ids *ids)
{
  struct mm_encoder *e;
  mm_status st = mm_encoder_open (t, &e);

  if (st < 0)
    return st;
  st = mm_encode (e, p->text, p->size, c->parse_special ? MM_PARSE_SPECIAL : 0, ids);
  mm_encoder_close (e);
  return st < 0 ? mm_fail_prefix (st, "prompt") : MM_OK;
}

mm_status
prompt_read (const struct generate_config *c, const struct mm_tokenizer *t, struct prompt *p)
{
  int32_t bos = c->bos ? mm_tokenizer_bos (t) : MM_NO_TOKEN;
  struct mm_ids ids = { 0 };
  mm_status st;

  *p = (struct prompt) { 0 };
  if (c->bos && bos == MM_NO_TOKEN)
    return mm_fail (MM_EUSAGE, "--bos: the tokenizer has no bos token");
  st = read_text (c, p);
  if (st >= 0)
    st = encode (c, t, p, &ids);
  if (st >= 0 && !c->bos && ids.count == 0)
    st = mm_fail (MM_EUSAGE, "the prompt is empty: give some text, or --bos");
  if (st >= 0)
    st = mm_alloc ("prompt", ids.count + 1, sizeof *p->ids, &p->ids);
  if (st >= 0)
    {
      if (c->bos)
        p->ids[p->count++] = bos;
      for (size_t i = 0; i < ids.count; i++)
        p->ids[p->count++] = (int32_t) ids.data[i];
    }
  free (ids.data);
  return st;
}

void
prompt_free (struct prompt *p)
{
  free (p->text);
  free (p->ids);
}
