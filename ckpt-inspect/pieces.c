/* pieces.c -- tokens decoded with their marks.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>
#include <minimind/shown.h>

#include "pieces.h"

/* Ordinary tokens gather until a mark comes, so that characters made of several tokens appear whole.  */
struct run
{
  FILE *f;                      /* the text */
  char *bytes;                  /* gathered */
  size_t size, capacity;
  bool failed;                  /* memory was short */
};

static void
flush (struct run *r)
{
  mm_shown_write (r->f, r->bytes, r->size);
  r->size = 0;
}

static void
mark (struct run *r, const char *text)
{
  flush (r);
  fputs (text, r->f);
}

static void
add_token (struct run *r, const struct mm_tokenizer *t, uint32_t id)
{
  size_t size;
  const char *bytes = mm_tokenizer_bytes (t, id, &size);

  if (bytes && !mm_tokenizer_is_special (t, id))
    {
      if (mm_grow ("text", &r->bytes, &r->capacity, r->size + size, 1) < 0)
        r->failed = true;
      else if (size > 0)
        memcpy (r->bytes + r->size, bytes, size);
      r->size += r->failed ? 0 : size;
      return;
    }
  mark (r, "\\[");
  if (bytes)
    mm_shown_write (r->f, bytes, size);
  else
    fprintf (r->f, "#%u", (unsigned) id);
  putc (']', r->f);
}

static void
add_all (struct run *r, const struct mm_tokenizer *t, const uint32_t *ids, const uint8_t *starts,
         const uint8_t *mask, size_t n)
{
  bool all = true, target = false;

  for (size_t i = 0; mask && i < n; i++)
    all = all && mask[i];
  for (size_t i = 0; i < n; i++)
    {
      bool is_target = mask && !all && mask[i];

      if (target && !is_target)
        mark (r, "\\}");
      if (starts && starts[i] && i > 0)
        mark (r, "\\|");
      if (is_target && !target)
        mark (r, "\\{");
      target = is_target;
      add_token (r, t, ids[i]);
    }
  flush (r);
  if (target)
    fputs ("\\}", r->f);
}

char *
pieces_decode (const struct mm_tokenizer *t, const uint32_t *ids, const uint8_t *starts, const uint8_t *mask,
               size_t n)
{
  struct run r = { .size = 0 };
  char *text = NULL;
  size_t size;

  r.f = open_memstream (&text, &size);
  if (!r.f)
    return NULL;
  add_all (&r, t, ids, starts, mask, n);
  free (r.bytes);
  if (fclose (r.f) == 0 && !r.failed)
    return text;
  free (text);
  return NULL;
}
