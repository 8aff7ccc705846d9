/* encode.c -- text to ids.
   SPDX-License-Identifier: Apache-2.0

   Text is cut at added tokens, what is left into pieces by the pattern, and each piece is
   encoded alone.  Most pieces of a text have been seen before: those of up to 15 bytes go through
   a cache of fixed size whose key is the piece itself, in two words.  Pieces are taken in batches,
   first their keys, then their ids, so that a cache line is on its way when it is asked for.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "piece_key.h"
#include "tokenizer_impl.h"
#include "unicode.h"

enum
{
  NARROW_IDS = 7, WIDE_IDS = 3, /* ids that an entry holds, of 16 and of 32 bits */
  CACHE_BITS = 15,              /* pairs of entries: 2 MB */
  BATCH = 256                   /* pieces */
};

struct entry
{
  uint64_t key[2];              /* zero where it is free: no piece has length 0 */
  union
  {
    struct { uint16_t ids[NARROW_IDS], count; } narrow;
    struct { uint32_t ids[WIDE_IDS], count; } wide;
  } u;
};

/* The two entries of one cache line; a new one takes the first place.  */
struct slot
{
  struct entry entry[2];
};

struct piece
{
  uint64_t key[2];
  struct slot *slot;            /* NULL if it is too long for a key */
};

struct mm_encoder
{
  const struct mm_tokenizer *t;
  struct mm_arena arena;
  struct slot *cache;
  bool narrow;                  /* ids fit in 16 bits */
  struct mm_bpe_scratch scratch;
  size_t ends[BATCH];
  struct piece pieces[BATCH];
};

mm_status
mm_encoder_open (const struct mm_tokenizer *t, struct mm_encoder **out)
{
  struct mm_encoder *e;
  mm_status st = mm_alloc ("encoder", 1, sizeof *e, &e);

  *out = NULL;
  if (st < 0)
    return st;
  e->t = t;
  e->narrow = t->n_ids <= 1 << 16;
  st = mm_bpe_scratch_open (&e->scratch);
  if (st == MM_OK)
    {
      mm_arena_take (&e->arena, (size_t) 1 << CACHE_BITS, sizeof *e->cache);
      st = mm_arena_map (&e->arena, "encoder's cache");
      e->cache = mm_arena_take (&e->arena, (size_t) 1 << CACHE_BITS, sizeof *e->cache);
    }
  if (st < 0)
    mm_encoder_close (e);
  else
    *out = e;
  return st;
}

void
mm_encoder_close (struct mm_encoder *e)
{
  if (!e)
    return;
  mm_bpe_scratch_close (&e->scratch);
  mm_arena_free (&e->arena);
  free (e);
}

/* ---- one piece ---- */

/* The ids of a piece from the model itself.  */
static mm_status
encode_piece (struct mm_encoder *e, const char *text, size_t size, uint32_t *ids, size_t *count)
{
  if (e->t->ignore_merges)
    {
      uint32_t id = mm_trie_find (&e->t->vocabulary, text, size);

      if (id != MM_TRIE_NONE)
        {
          *ids = id;
          *count = 1;
          return MM_OK;
        }
    }
  return mm_bpe_encode (&e->t->bpe, &e->scratch, text, size, ids, count);
}

/* Encode a piece that is not in its SLOT and put it there if its ids fit.  */
__attribute__ ((noinline)) static mm_status
encode_new (struct mm_encoder *e, const struct piece *piece, const char *text, size_t size,
            uint32_t *ids, size_t *count)
{
  mm_status st = encode_piece (e, text, size, ids, count);
  struct slot *slot = piece->slot;
  struct entry *entry = slot->entry;

  if (st < 0 || *count > (e->narrow ? NARROW_IDS : WIDE_IDS))
    return st;
  slot->entry[1] = *entry;
  entry->key[0] = piece->key[0];
  entry->key[1] = piece->key[1];
  if (e->narrow)
    {
      for (size_t i = 0; i < *count; i++)
        entry->u.narrow.ids[i] = (uint16_t) ids[i];
      entry->u.narrow.count = (uint16_t) *count;
    }
  else
    {
      memcpy (entry->u.wide.ids, ids, *count * sizeof *ids);
      entry->u.wide.count = (uint32_t) *count;
    }
  return MM_OK;
}

/* ---- runs of pieces ---- */

/* Keys of N pieces of TEXT from AT on, and their cache lines called for.  */
static inline void
find_slots (struct mm_encoder *e, const char *text, size_t size, size_t at, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      size_t length = e->ends[i] - at;
      struct piece *piece = e->pieces + i;

      piece->slot = NULL;
      if (length <= MM_KEY_BYTES)
        {
          mm_piece_key (text + at, length, size - at, piece->key);
          piece->slot = e->cache + (mm_key_hash (piece->key) >> (64 - CACHE_BITS));
          __builtin_prefetch (piece->slot);
        }
      at = e->ends[i];
    }
}

/* Append the ids of N pieces of TEXT from AT on; IDS has room for all and NARROW_IDS + 1 more,
   as entries are copied whole.  */
static inline __attribute__ ((always_inline)) mm_status
copy_ids (struct mm_encoder *e, const char *text, size_t at, size_t n, bool narrow,
          struct mm_ids *ids)
{
  uint32_t *out = ids->data + ids->count;

  for (size_t i = 0; i < n; i++)
    {
      const struct piece *piece = e->pieces + i;
      const struct entry *entry = piece->slot ? piece->slot->entry : NULL;

      if (entry && (mm_key_same (entry->key, piece->key)
                    || mm_key_same ((++entry)->key, piece->key)))
        if (narrow)
          {
            for (int k = 0; k < NARROW_IDS; k++)
              out[k] = entry->u.narrow.ids[k];
            out += entry->u.narrow.count;
          }
        else
          {
            for (int k = 0; k < WIDE_IDS; k++)
              out[k] = entry->u.wide.ids[k];
            out += entry->u.wide.count;
          }
      else
        {
          size_t length = e->ends[i] - at, count = 0;
          mm_status st = piece->slot ? encode_new (e, piece, text + at, length, out, &count)
                                     : encode_piece (e, text + at, length, out, &count);

          if (st < 0)
            return st;
          out += count;
        }
      at = e->ends[i];
    }
  ids->count = (size_t) (out - ids->data);
  return MM_OK;
}

/* Encode text that holds no added token.  */
static mm_status
encode_plain (struct mm_encoder *e, const char *text, size_t size, struct mm_ids *ids)
{
  for (size_t at = 0; at < size;)
    {
      size_t n = mm_pretokenize (e->t->pattern, text, size, at, e->ends, BATCH);
      size_t end = e->ends[n - 1];
      mm_status st = mm_grow ("ids", &ids->data, &ids->capacity,
                              ids->count + (end - at) + NARROW_IDS + 1, sizeof *ids->data);

      if (st < 0)
        return st;
      find_slots (e, text, size, at, n);
      st = e->narrow ? copy_ids (e, text, at, n, true, ids) : copy_ids (e, text, at, n, false, ids);
      if (st < 0)
        return st;
      at = end;
    }
  return MM_OK;
}

/* ---- added tokens ---- */

static mm_status
append_id (struct mm_ids *ids, uint32_t id)
{
  mm_status st = mm_grow ("ids", &ids->data, &ids->capacity, ids->count + 1, sizeof *ids->data);

  if (st == MM_OK)
    ids->data[ids->count++] = id;
  return st;
}

/* Encode what stands between the added tokens of the first set.  */
static mm_status
encode_between (struct mm_encoder *e, const char *text, size_t size, bool special,
                struct mm_ids *ids)
{
  size_t at = 0, done = 0;
  struct mm_added_match match;
  mm_status st = MM_OK;

  while (st == MM_OK && mm_added_next (&e->t->normalized, text, size, special, &at, done, &match))
    {
      st = encode_plain (e, text + done, match.start - done, ids);
      if (st == MM_OK)
        st = append_id (ids, match.id);
      done = match.end;
    }
  return st < 0 ? st : encode_plain (e, text + done, size - done, ids);
}

mm_status
mm_encode (struct mm_encoder *e, const char *text, size_t size, unsigned flags, struct mm_ids *ids)
{
  bool special = flags & MM_PARSE_SPECIAL;
  size_t at = 0, done = 0, valid = mm_utf8_check (text, size, NULL);
  struct mm_added_match match;
  mm_status st = MM_OK;

  if (valid < size)
    return mm_fail (MM_EFORMAT, "invalid UTF-8 at byte %zu", valid);
  while (st == MM_OK && mm_added_next (&e->t->verbatim, text, size, special, &at, done, &match))
    {
      st = encode_between (e, text + done, match.start - done, special, ids);
      if (st == MM_OK)
        st = append_id (ids, match.id);
      done = match.end;
    }
  return st < 0 ? st : encode_between (e, text + done, size - done, special, ids);
}

size_t
mm_encode_cut (const struct mm_tokenizer *t, const char *text, size_t size, size_t limit,
               unsigned flags)
{
  bool special = flags & MM_PARSE_SPECIAL;

  /* What is matched but not taken still hides what it overlaps, but matters only where
     something is taken.  */
  for (size_t at = limit < size ? limit + 1 : size; at-- > 1;)
    if (((unsigned char) text[at] & 0xc0) != 0x80
        && at + mm_utf8_length ((unsigned char) text[at]) <= size
        && mm_pretokenize_may_cut (t->pattern, text, at)
        && ((!special && !t->verbatim.any_plain) || mm_added_may_cut (&t->verbatim, text, size, at))
        && ((!special && !t->normalized.any_plain)
            || mm_added_may_cut (&t->normalized, text, size, at)))
      return at;
  return 0;
}
