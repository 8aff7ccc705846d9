/* survey.c -- a first pass over the documents: which are equal, which are chosen for validation.
   SPDX-License-Identifier: Apache-2.0

   What becomes of a document depends on its text, not on its place: copies of it never part, in
   whichever file or pass of a mix they stand.  All threads read and hash documents, in blocks.

   Two hashes, for two questions.  Which documents are held out is told by XXH3, which costs next to nothing: whoever
   makes documents that share a digest has them on the same side, no more.  Which are equal is asked only by --dedupe,
   and there a forged digest would take a document away from who wrote it: XXH3 can be forged, a secret seed would make
   results depend on it, and to compare bytes would mean to read at random what stands far before, so that question
   goes to SHA-256.  It also says what a source is where nothing is held out: such datasets, and the checkpoints that
   name them, keep the bytes that they had before XXH3 came.  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include <minimind/hash.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/random.h>
#include <minimind/thread.h>

#include "survey.h"

enum
{
  BLOCK_BYTES = 1 << 22,        /* of ids; a longer document is hashed piece by piece */
  BLOCK_DOCUMENTS = 1 << 13,
  READ_BYTES = 1 << 18,         /* at once, if there are several documents: they stay in a core's cache */
  KEY = 16                      /* bytes of a SHA-256 by which documents are told apart */
};

struct block
{
  uint8_t *ids;                 /* BLOCK_BYTES */
  const struct mm_tokens *file; /* all documents are of one, one behind the other */
  uint64_t first_token;
  size_t n, used;               /* documents, bytes */
  uint64_t first;               /* number of the first document, among all inputs' */
  uint64_t begin[BLOCK_DOCUMENTS + 1];  /* bytes */
  uint64_t lengths[BLOCK_DOCUMENTS];    /* tokens */
  /* Either where it is asked for.  */
  uint8_t digests[BLOCK_DOCUMENTS][SURVEY_DIGEST], sha256[BLOCK_DOCUMENTS][MM_SHA256_SIZE];
  bool held[BLOCK_DOCUMENTS];   /* chosen for validation */
};

struct worker
{
  struct mm_sha256 *sha256;     /* NULL where no one asks for it */
  mm_status st;
  char *message;                /* of a failure, or NULL */
};

struct surveying
{
  struct corpus *corpus;
  struct mm_team *team;
  struct worker *workers;       /* one a thread */
  bool choosing;                /* for validation: by XXH3 */
  XXH3_state_t *source_xxh, *long_xxh;
  struct mm_sha256 *source_sha256;      /* else */
  struct block *block;
  uint8_t (*seen)[KEY];         /* an open table of keys, all zeros where free; NULL: none is kept */
  uint64_t seen_size;
};

static uint64_t
word (const uint8_t *p, int bytes)
{
  uint64_t w = 0;

  for (int b = 0; b < bytes; b++)
    w |= (uint64_t) p[b] << 8 * b;
  return w;
}

bool
survey_holds (const struct pack_config *c, const uint8_t digest[SURVEY_DIGEST])
{
  return mm_uniform (c->seed, MM_RANDOM_VALIDATION, (uint32_t) word (digest + 8, 4), word (digest, 8))
         < c->validation;
}

/* Was KEY there before?  It is now.  */
static bool
is_known (struct surveying *s, const uint8_t key[KEY])
{
  static const uint8_t none[KEY];
  uint64_t at = (uint64_t) ((unsigned __int128) word (key, 8) * s->seen_size >> 64);

  while (memcmp (s->seen[at], none, KEY) != 0)
    {
      if (memcmp (s->seen[at], key, KEY) == 0)
        return true;
      at = at + 1 < s->seen_size ? at + 1 : 0;
    }
  memcpy (s->seen[at], key, KEY);
  return false;
}

/* Document I of the block, which has LENGTH tokens, is hashed.  */
static void
decide (struct surveying *s, struct source *source, size_t i, uint64_t length)
{
  const struct block *b = s->block;
  struct corpus *c = s->corpus;
  uint64_t document = b->first + i;

  if (length > 0 && s->seen && is_known (s, b->sha256[i]))
    {
      source->duplicates++;
      source->duplicate_tokens += length;
      corpus_set_fate (c, document, FATE_DROPPED);
      return;
    }
  source->documents++;
  source->tokens += length;
  if (length > 0)
    source->last_length = length;
  if (s->choosing && b->held[i])
    {
      source->chosen_tokens += length;
      corpus_set_fate (c, document, FATE_VALIDATION);
    }
}

/* ---- blocks ---- */

/* The same bytes on every machine.  */
static void
put_digest (XXH128_hash_t hash, uint8_t digest[SURVEY_DIGEST])
{
  XXH128_canonical_t canonical;

  XXH128_canonicalFromHash (&canonical, hash);
  memcpy (digest, canonical.digest, SURVEY_DIGEST);
}

/* Hash documents FROM to TO, which are read together.  */
static mm_status
hash_documents (const struct surveying *s, struct mm_sha256 *sha256, size_t from, size_t to)
{
  struct block *b = s->block;
  size_t width = mm_tokens_width (b->file);
  mm_status st = mm_tokens_read_shared (b->file, b->first_token + b->begin[from] / width,
                                        (size_t) (b->begin[to] - b->begin[from]) / width, b->ids + b->begin[from]);

  for (size_t i = from; st >= 0 && i < to; i++)
    {
      const uint8_t *ids = b->ids + b->begin[i];
      size_t size = (size_t) (b->begin[i + 1] - b->begin[i]);

      if (s->choosing)
        {
          put_digest (XXH3_128bits (ids, size), b->digests[i]);
          b->held[i] = survey_holds (s->corpus->config, b->digests[i]);
        }
      if (sha256)
        {
          mm_sha256_add (sha256, ids, size);
          mm_sha256_take (sha256, b->sha256[i]);
        }
    }
  return st;
}

static void
hash_share (void *arg, int thread, int n_threads)
{
  struct surveying *s = arg;
  struct worker *w = &s->workers[thread];
  struct block *b = s->block;
  size_t from, to, next;

  mm_share (b->n, 1, thread, n_threads, &from, &to);
  for (; from < to && w->st >= 0; from = next)
    {
      for (next = from + 1; next < to && b->begin[next + 1] - b->begin[from] <= READ_BYTES;)
        next++;
      w->st = hash_documents (s, w->sha256, from, next);
    }
  if (w->st < 0)
    w->message = strdup (mm_error_message ());
}

/* The first N documents of the block are hashed.  */
static void
add_to_source (struct surveying *s, size_t n)
{
  if (s->choosing)
    XXH3_128bits_update (s->source_xxh, s->block->digests, n * sizeof *s->block->digests);
  else
    mm_sha256_add (s->source_sha256, s->block->sha256, n * sizeof *s->block->sha256);
}

static mm_status
end_block (struct surveying *s, struct source *source)
{
  struct block *b = s->block;

  if (b->n == 0)
    return MM_OK;
  mm_team_run (s->team, hash_share, s);
  for (int i = 0; i < s->corpus->config->threads; i++)
    if (s->workers[i].st < 0)
      return mm_fail (s->workers[i].st, "%s", s->workers[i].message ? s->workers[i].message : "no memory");
  add_to_source (s, b->n);
  for (size_t i = 0; i < b->n; i++)
    decide (s, source, i, b->lengths[i]);
  b->first += b->n;
  b->n = b->used = 0;
  return MM_OK;
}

/* A document that fills more than a block, which is empty.  */
static mm_status
hash_long (struct surveying *s, struct source *source, struct mm_tokens *f, uint64_t first, uint64_t length)
{
  struct block *b = s->block;
  struct mm_sha256 *sha256 = s->workers[0].sha256;
  size_t width = mm_tokens_width (f), most = BLOCK_BYTES / width, n;

  XXH3_128bits_reset (s->long_xxh);
  for (uint64_t at = 0; at < length; at += n)
    {
      mm_status st;

      n = length - at < most ? (size_t) (length - at) : most;
      st = mm_tokens_read_packed (f, first + at, n, b->ids, NULL);
      if (st < 0)
        return st;
      if (s->choosing)
        XXH3_128bits_update (s->long_xxh, b->ids, n * width);
      if (sha256)
        mm_sha256_add (sha256, b->ids, n * width);
    }
  put_digest (XXH3_128bits_digest (s->long_xxh), b->digests[0]);
  b->held[0] = survey_holds (s->corpus->config, b->digests[0]);
  if (sha256)
    mm_sha256_take (sha256, b->sha256[0]);
  add_to_source (s, 1);
  decide (s, source, 0, length);
  b->first++;
  return MM_OK;
}

static mm_status
add_document (struct surveying *s, struct source *source, struct mm_tokens *f, uint64_t doc)
{
  struct block *b = s->block;
  uint64_t first, length, bytes;
  mm_status st = mm_tokens_document (f, doc, &first, &length);

  if (st < 0)
    return st;
  bytes = length * mm_tokens_width (f);
  if (b->n == BLOCK_DOCUMENTS || bytes > BLOCK_BYTES - b->used)
    st = end_block (s, source);
  if (st < 0)
    return st;
  if (bytes > BLOCK_BYTES)
    return hash_long (s, source, f, first, length);
  if (b->n == 0)
    {
      b->file = f;
      b->first_token = first;
    }
  b->begin[b->n] = b->used;
  b->lengths[b->n] = length;
  b->used += (size_t) bytes;
  b->begin[++b->n] = b->used;
  return MM_OK;
}

/* ---- the whole ---- */

static mm_status
survey_input (struct surveying *s, struct source *source, size_t i)
{
  uint64_t documents = s->corpus->inputs[i].documents;
  struct mm_tokens *f;
  mm_status st = corpus_enter (s->corpus, i, &f);

  for (uint64_t doc = 0; st >= 0 && doc < documents; doc++)
    {
      st = add_document (s, source, f, doc);
      if (doc % 1024 == 0 && mm_progress_due ())
        mm_progress ("surveying %s: document %" PRIu64 " of %" PRIu64, mm_tokens_path (f), doc, documents);
    }
  if (st >= 0)
    st = end_block (s, source);
  corpus_leave (s->corpus, i);
  return st;
}

static mm_status
survey_source (struct surveying *s, size_t number)
{
  struct source *source = &s->corpus->sources[number];
  uint8_t digest[SURVEY_DIGEST];
  mm_status st = s->choosing ? MM_OK : mm_sha256_open (&s->source_sha256);

  XXH3_128bits_reset (s->source_xxh);
  for (size_t i = 0; st >= 0 && i < source->inputs; i++)
    st = survey_input (s, source, source->first_input + i);
  if (s->source_sha256)
    mm_sha256_close (s->source_sha256, source->hash);
  s->source_sha256 = NULL;
  put_digest (XXH3_128bits_digest (s->source_xxh), digest);
  for (size_t i = 0; s->choosing && i < SURVEY_DIGEST; i++)
    snprintf (source->hash + 2 * i, 3, "%02x", digest[i]);
  return st;
}

static mm_status
begin (struct surveying *s)
{
  const struct pack_config *config = s->corpus->config;
  mm_status st = mm_team_open (config->threads, &s->team);

  if (st >= 0)
    st = mm_alloc ("survey", 1, sizeof *s->block, &s->block);
  if (st >= 0)
    st = mm_alloc ("survey", BLOCK_BYTES, 1, &s->block->ids);
  if (st >= 0)
    st = mm_alloc ("survey", (size_t) config->threads, sizeof *s->workers, &s->workers);
  s->choosing = config->validation > 0;
  s->source_xxh = XXH3_createState ();
  s->long_xxh = XXH3_createState ();
  if (st >= 0 && !(s->source_xxh && s->long_xxh))
    st = mm_fail (MM_ENOMEM, "survey: no memory for a hash");
  for (int i = 0; st >= 0 && (config->dedupe || !s->choosing) && i < config->threads; i++)
    st = mm_sha256_open (&s->workers[i].sha256);
  if (st < 0 || !config->dedupe)
    return st;
  /* Three quarters full at most.  */
  s->seen_size = s->corpus->documents + s->corpus->documents / 3 + 1;
  return mm_alloc ("hashes of the documents", s->seen_size, KEY, &s->seen);
}

static void
end (struct surveying *s)
{
  char text[MM_SHA256_TEXT];

  for (int i = 0; s->workers && i < s->corpus->config->threads; i++)
    {
      if (s->workers[i].sha256)
        mm_sha256_close (s->workers[i].sha256, text);
      free (s->workers[i].message);
    }
  free (s->workers);
  if (s->block)
    free (s->block->ids);
  free (s->block);
  free (s->seen);
  XXH3_freeState (s->source_xxh);
  XXH3_freeState (s->long_xxh);
  mm_team_close (s->team);
}

mm_status
survey (struct corpus *c)
{
  struct surveying s = { .corpus = c };
  mm_status st = begin (&s);

  for (size_t i = 0; st >= 0 && i < c->config->n_sources; i++)
    st = survey_source (&s, i);
  end (&s);
  return st;
}
