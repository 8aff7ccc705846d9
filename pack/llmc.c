/* llmc.c -- token files of llm.c.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/memory.h>

#include "llmc.h"

enum { HEADER = 1024, PIECE = 1 << 16 };        /* bytes; tokens */

static const char *const names[] = { "train", "val" };  /* by enum mm_split */

struct split
{
  struct mm_output *out;        /* the file under way, or NULL */
  uint64_t tokens;              /* in it */
  unsigned files;               /* begun */
  json_t *list;                 /* those that are finished */
};

struct llmc_writer
{
  uint64_t file_tokens, open_ended;
  uint32_t eos;
  size_t width;
  struct split splits[2];
  uint8_t piece[4 * PIECE];
  char dir[];
};

mm_status
llmc_create (const char *dir, const struct mm_tokenizer *t, uint64_t file_tokens, struct llmc_writer **out)
{
  struct llmc_writer *w;
  size_t width = mm_tokenizer_vocab_size (t) > 65536 ? 4 : 2;
  uint64_t most = (INT32_MAX - HEADER) / width;
  mm_status st;

  *out = NULL;
  if (file_tokens > most)
    return mm_fail (MM_EUSAGE, "%" PRIu64 " tokens a file are more than llm.c can read: at most %" PRIu64,
                    file_tokens, most);
  st = mm_alloc ("llm.c's files", 1, sizeof *w + strlen (dir) + 1, &w);
  if (st < 0)
    return st;
  strcpy (w->dir, dir);
  w->file_tokens = file_tokens;
  w->eos = (uint32_t) mm_tokenizer_eos (t);
  w->width = width;
  for (int i = 0; i < 2; i++)
    w->splits[i].list = json_array ();
  *out = w;
  return MM_OK;
}

/* DIR/train_000000.bin; free() it.  */
static mm_status
file_path (const struct llmc_writer *w, enum mm_split split, unsigned file, char **path)
{
  char name[32];

  snprintf (name, sizeof name, "%s_%06u.bin", names[split], file);
  *path = mm_path_join (w->dir, name);
  return *path ? MM_OK : mm_fail (MM_ENOMEM, "%s: no memory for a name", w->dir);
}

static mm_status
begin_file (struct llmc_writer *w, enum mm_split split)
{
  static const uint8_t header[HEADER];
  struct split *s = &w->splits[split];
  char *path;
  mm_status st = file_path (w, split, s->files, &path);

  if (st >= 0)
    st = mm_output_open (path, false, &s->out);
  if (st >= 0)
    st = mm_output_write (s->out, header, sizeof header);
  free (path);
  s->files++;
  s->tokens = 0;
  return st;
}

static mm_status
end_file (struct llmc_writer *w, enum mm_split split)
{
  struct split *s = &w->splits[split];
  const uint32_t words[] = { w->width == 2 ? 20240520 : 20240801, w->width == 2 ? 1 : 7, (uint32_t) s->tokens };
  uint8_t head[sizeof words];
  char *path = NULL, sha256[MM_SHA256_TEXT];
  mm_status st;

  for (size_t i = 0; i < sizeof head; i++)
    head[i] = (uint8_t) (words[i / 4] >> 8 * (i % 4));
  st = mm_output_write_at (s->out, 0, head, sizeof head);
  if (st < 0)
    return st;
  st = mm_output_commit (s->out);
  s->out = NULL;
  if (st >= 0)
    st = file_path (w, split, s->files - 1, &path);
  if (st >= 0)
    st = mm_sha256_file (path, sha256);
  free (path);
  if (st >= 0)
    json_array_append_new (s->list, json_pack ("{s:I, s:s}", "tokens", (json_int_t) s->tokens, "sha256", sha256));
  return st;
}

/* The last N ids of the piece are in the file; does the document end with eos?  */
static bool
ends_with_eos (const struct llmc_writer *w, size_t n)
{
  uint32_t id = 0;

  for (size_t b = 0; b < w->width; b++)
    id |= (uint32_t) w->piece[(n - 1) * w->width + b] << 8 * b;
  return id == w->eos;
}

mm_status
llmc_add (struct llmc_writer *w, enum mm_split split, struct mm_tokens *f, uint64_t first, uint64_t count)
{
  struct split *s = &w->splits[split];
  size_t n = 0;
  mm_status st = MM_OK;

  while (st >= 0 && count > 0)
    {
      uint64_t room;

      if (!s->out)
        st = begin_file (w, split);
      if (st < 0)
        return st;
      room = w->file_tokens - s->tokens;
      n = count < PIECE ? (size_t) count : PIECE;
      n = n < room ? n : (size_t) room;
      st = mm_tokens_read_packed (f, first, n, w->piece, NULL);
      if (st >= 0)
        st = mm_output_write (s->out, w->piece, n * w->width);
      first += n;
      count -= n;
      s->tokens += n;
      if (st >= 0 && s->tokens == w->file_tokens)
        st = end_file (w, split);
    }
  w->open_ended += st >= 0 && n > 0 && !ends_with_eos (w, n);
  return st;
}

mm_status
llmc_commit (struct llmc_writer *w, json_t **files)
{
  mm_status st = MM_OK;

  *files = NULL;
  for (int i = 0; st >= 0 && i < 2; i++)
    if (w->splits[i].out)
      st = end_file (w, (enum mm_split) i);
  if (st >= 0)
    *files = json_pack ("{s:O, s:O, s:I}", "train", w->splits[0].list, "validation", w->splits[1].list,
                        "documents_without_eos", (json_int_t) w->open_ended);
  if (st >= 0 && !*files)
    st = mm_fail (MM_ENOMEM, "%s: no memory for the list of files", w->dir);
  llmc_abort (w);
  return st;
}

void
llmc_abort (struct llmc_writer *w)
{
  if (!w)
    return;
  for (int i = 0; i < 2; i++)
    {
      mm_output_abort (w->splits[i].out);
      json_decref (w->splits[i].list);
    }
  free (w);
}
