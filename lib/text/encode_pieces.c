/* encode_pieces.c -- pieces to ids, most of them from a cache.
   SPDX-License-Identifier: Apache-2.0

   The pattern cuts text into pieces, seams (seam.h) cut what is not ASCII on into parts.  Most
   parts of a text have been seen before: those of up to 15 bytes go through a cache of fixed size
   whose key is the part itself, in two words; what is longer or has many ids through a smaller
   cache of texts.  Parts are taken in batches, first their keys, then their ids, so that a cache
   line is on its way when it is asked for.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#if defined __SSE2__
# include <emmintrin.h>
#endif

#include <minimind/memory.h>

#include "encode_pieces.h"
#include "piece_key.h"

enum
{
  NARROW_IDS = 7, WIDE_IDS = 3, /* ids that an entry holds, of 16 and of 32 bits */
  COPIED_IDS = 8,               /* ids written for an entry, however many it holds */
  CACHE_BITS = 17,              /* slots: 8 MB */
  LONG_BITS = 10, LONG_BYTES = 80, LONG_IDS = 26,       /* what does not fit there: 192 kB */
  BATCH = 256                   /* pieces; parts */
};

#define HIGH UINT64_C (0x8080808080808080)
#define NO_KEY UINT64_MAX       /* never in the cache */

struct entry
{
  uint64_t key[2];              /* zero where it is free: no part has length 0 */
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

struct long_entry
{
  uint32_t size, count;         /* size 0 where it is free */
  char text[LONG_BYTES];
  uint32_t ids[LONG_IDS];
};

struct part
{
  uint64_t key[2];              /* of a part that is too long for one: its size, NO_KEY */
  struct slot *slot;
  size_t at;
};

struct mm_pieces
{
  const struct mm_tokenizer *t;
  struct mm_arena arena;
  struct slot *cache;
  struct long_entry *longs;
  bool narrow;                  /* ids fit in 16 bits */
  struct mm_bpe_scratch scratch;
  struct mm_splitter *splitter; /* for patterns that are not built in, else NULL */
  size_t ends[BATCH];           /* of pieces */
  size_t n_pieces, next_piece;  /* found; not yet cut into parts */
  struct part parts[BATCH];
  size_t n_parts;
};

static void
layout (struct mm_pieces *p)
{
  p->cache = mm_arena_take (&p->arena, (size_t) 1 << CACHE_BITS, sizeof *p->cache);
  p->longs = mm_arena_take (&p->arena, (size_t) 1 << LONG_BITS, sizeof *p->longs);
}

mm_status
mm_pieces_open (const struct mm_tokenizer *t, struct mm_pieces **out)
{
  struct mm_pieces *p;
  mm_status st = mm_alloc ("encoder", 1, sizeof *p, &p);

  *out = NULL;
  if (st < 0)
    return st;
  p->t = t;
  p->narrow = t->n_ids <= 1 << 16;
  st = mm_bpe_scratch_open (&p->scratch);
  if (st == MM_OK && t->pattern == MM_PATTERN_GENERAL)
    st = mm_splitter_open (&t->split, &p->splitter);
  if (st == MM_OK)
    {
      layout (p);
      st = mm_arena_map (&p->arena, "encoder's cache");
      layout (p);
    }
  if (st < 0)
    mm_pieces_close (p);
  else
    *out = p;
  return st;
}

void
mm_pieces_close (struct mm_pieces *p)
{
  if (!p)
    return;
  mm_bpe_scratch_close (&p->scratch);
  mm_splitter_close (p->splitter);
  mm_arena_free (&p->arena);
  free (p);
}

/* ---- parts that are not remembered ---- */

mm_status
mm_piece_encode (const struct mm_tokenizer *t, struct mm_bpe_scratch *s, const char *text, size_t size,
                 uint32_t *ids, size_t *count)
{
  if (t->ignore_merges)
    {
      uint32_t id = mm_trie_find (&t->vocabulary, text, size);

      if (id != MM_TRIE_NONE)
        {
          *ids = id;
          *count = 1;
          return MM_OK;
        }
    }
  return mm_bpe_encode (&t->bpe, s, text, size, ids, count);
}

/* The ids of a part from the model itself.  */
static mm_status
encode_part (struct mm_pieces *p, const char *text, size_t size, uint32_t *ids, size_t *count)
{
  return mm_piece_encode (p->t, &p->scratch, text, size, ids, count);
}

/* The same by way of the small cache.  */
static mm_status
encode_text (struct mm_pieces *p, const char *text, size_t size, uint32_t *ids, size_t *count)
{
  struct long_entry *entry = p->longs + (mm_text_hash (text, size) >> (64 - LONG_BITS));
  mm_status st;

  if (entry->size == size && memcmp (entry->text, text, size) == 0)
    {
      memcpy (ids, entry->ids, entry->count * sizeof *ids);
      *count = entry->count;
      return MM_OK;
    }
  st = encode_part (p, text, size, ids, count);
  if (st == MM_OK && size <= LONG_BYTES && *count <= LONG_IDS)
    {
      entry->size = (uint32_t) size;
      entry->count = (uint32_t) *count;
      memcpy (entry->text, text, size);
      memcpy (entry->ids, ids, *count * sizeof *ids);
    }
  return st;
}

/* Encode a part that is not in its SLOT and put it there if its ids fit.  */
static mm_status
encode_new (struct mm_pieces *p, const struct part *part, const char *text, uint32_t *ids,
            size_t *count)
{
  size_t size = part->key[1] >> 56;
  mm_status st = size < 8 ? encode_part (p, text, size, ids, count)
                          : encode_text (p, text, size, ids, count);
  struct slot *slot = part->slot;
  struct entry *entry = slot->entry;

  if (st < 0 || *count > (p->narrow ? NARROW_IDS : WIDE_IDS))
    return st;
  slot->entry[1] = *entry;
  memcpy (entry->key, part->key, sizeof entry->key);
  if (p->narrow)
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

__attribute__ ((noinline)) static mm_status
encode_missing (struct mm_pieces *p, const struct part *part, const char *text, uint32_t *ids,
                size_t *count)
{
  return part->key[1] == NO_KEY ? encode_text (p, text + part->at, part->key[0], ids, count)
                                : encode_new (p, part, text + part->at, ids, count);
}

/* ---- pieces to parts ---- */

/* Make PART for a key at AT and call for its cache line.  */
static inline void
set_part (const struct mm_pieces *p, struct part *part, const uint64_t key[2], size_t at)
{
  struct slot *slot = p->cache + (mm_key_hash (key) >> (64 - CACHE_BITS));

  __builtin_prefetch (slot);
  part->key[0] = key[0];
  part->key[1] = key[1];
  part->slot = slot;
  part->at = at;
}

/* Add the parts of a piece from AT to END as far as there is room; returns the place reached.  */
__attribute__ ((noinline)) static size_t
add_parts (struct mm_pieces *p, const char *text, size_t size, size_t at, size_t end)
{
  struct part *part = p->parts + p->n_parts;
  const struct mm_seams *seams = p->t->seams;

  for (; at < end && part < p->parts + BATCH; part++)
    {
      size_t stop = seams ? mm_seam_next (seams, text, at, end) : end;
      uint64_t key[2] = { stop - at, NO_KEY };

      if (stop - at <= MM_KEY_BYTES)
        mm_piece_key (text + at, stop - at, size - at, key);
      set_part (p, part, key, at);
      at = stop;
    }
  p->n_parts = (size_t) (part - p->parts);
  return at;
}

/* Make parts of short pieces of ASCII, from AT on, as long as there are such and room; returns the
   place reached.  */
static inline size_t
add_short_pieces (struct mm_pieces *p, const char *text, size_t size, size_t at)
{
  struct part *part = p->parts + p->n_parts;
  size_t i = p->next_piece, left = p->n_pieces - i, room = BATCH - p->n_parts;

  for (const size_t stop = i + (left < room ? left : room); i < stop; i++, part++)
    {
      size_t length = p->ends[i] - at;
      uint64_t key[2];

      if (length > MM_KEY_BYTES)
        break;
      mm_piece_key (text + at, length, size - at, key);
      if ((key[0] | key[1]) & HIGH)
        break;
      set_part (p, part, key, at);
      at += length;
    }
  p->next_piece = i;
  p->n_parts = (size_t) (part - p->parts);
  return at;
}

/* Make parts of the pieces that were found, from AT on, as far as there is room; returns the place
   reached.  */
static size_t
find_parts (struct mm_pieces *p, const char *text, size_t size, size_t at)
{
  for (p->n_parts = 0;;)
    {
      at = add_short_pieces (p, text, size, at);
      if (p->next_piece == p->n_pieces || p->n_parts == BATCH)
        return at;
      at = add_parts (p, text, size, at, p->ends[p->next_piece]);
      if (at < p->ends[p->next_piece])
        return at;
      p->next_piece++;
    }
}

/* ---- parts to ids ---- */

/* The entry of PART in its slot; any of the two if it is not there, which *FOUND tells.  */
static inline const struct entry *
find_entry (const struct part *part, bool *found)
{
  const struct entry *entry = part->slot->entry;

#if defined __SSE2__
  __m128i key = _mm_loadu_si128 ((const __m128i *) part->key);
  __m128i first = _mm_load_si128 ((const __m128i *) entry[0].key);
  __m128i second = _mm_load_si128 ((const __m128i *) entry[1].key);
  int in_first = _mm_movemask_epi8 (_mm_cmpeq_epi8 (key, first)) == 0xffff;
  int in_second = _mm_movemask_epi8 (_mm_cmpeq_epi8 (key, second)) == 0xffff;

  *found = in_first | in_second;
  return entry + in_second;
#else
  if (!mm_key_same (entry->key, part->key))
    entry++;
  *found = mm_key_same (entry->key, part->key);
  return entry;
#endif
}

/* Write the ids of ENTRY to OUT, and more behind them up to COPIED_IDS; returns their number.  */
static inline __attribute__ ((always_inline)) size_t
copy_entry (const struct entry *entry, bool narrow, uint32_t *out)
{
#if defined __SSE2__
  __m128i ids = _mm_load_si128 ((const __m128i *) &entry->u);

  if (narrow)
    {
      _mm_storeu_si128 ((__m128i *) out, _mm_unpacklo_epi16 (ids, _mm_setzero_si128 ()));
      _mm_storeu_si128 ((__m128i *) (out + 4), _mm_unpackhi_epi16 (ids, _mm_setzero_si128 ()));
    }
  else
    _mm_storeu_si128 ((__m128i *) out, ids);
#else
  for (int k = 0; k < (narrow ? NARROW_IDS : WIDE_IDS); k++)
    out[k] = narrow ? entry->u.narrow.ids[k] : entry->u.wide.ids[k];
#endif
  return narrow ? entry->u.narrow.count : entry->u.wide.count;
}

/* Append the ids of all parts; IDS has room for a byte each and COPIED_IDS more.  */
static inline __attribute__ ((always_inline)) mm_status
copy_ids (struct mm_pieces *p, const char *text, bool narrow, struct mm_ids *ids)
{
  const struct part *end = p->parts + p->n_parts;
  uint32_t *out = ids->data + ids->count;

  for (const struct part *part = p->parts; part < end; part++)
    {
      bool found;
      const struct entry *entry = find_entry (part, &found);

      if (__builtin_expect (found, true))
        out += copy_entry (entry, narrow, out);
      else
        {
          size_t count = 0;
          mm_status st = encode_missing (p, part, text, out, &count);

          if (st < 0)
            return st;
          out += count;
        }
    }
  ids->count = (size_t) (out - ids->data);
  return MM_OK;
}

/* Find the next pieces of TEXT.  The first starts at *AT, which is where the last one ended unless
   the splitter drops what is between; *AT is SIZE if there are no more.  */
static mm_status
find_pieces (struct mm_pieces *p, const char *text, size_t size, size_t *at)
{
  mm_status st;

  p->next_piece = 0;
  if (!p->splitter)
    {
      p->n_pieces = mm_pretokenize (p->t->pattern, text, size, *at, p->ends, BATCH);
      return MM_OK;
    }
  st = mm_splitter_next (p->splitter, at, p->ends, BATCH, &p->n_pieces);
  if (p->n_pieces == 0)
    *at = size;
  return st;
}

mm_status
mm_pieces_encode (struct mm_pieces *p, const char *text, size_t size, struct mm_ids *ids)
{
  mm_status st = p->splitter ? mm_splitter_begin (p->splitter, text, size) : MM_OK;

  p->n_pieces = p->next_piece = 0;
  for (size_t at = 0, end; st == MM_OK && at < size; at = end)
    {
      if (p->next_piece == p->n_pieces)
        st = find_pieces (p, text, size, &at);
      if (st < 0)
        return st;
      end = find_parts (p, text, size, at);
      st = mm_grow ("ids", &ids->data, &ids->capacity, ids->count + (end - at) + COPIED_IDS,
                    sizeof *ids->data);
      if (st == MM_OK)
        st = p->narrow ? copy_ids (p, text, true, ids) : copy_ids (p, text, false, ids);
    }
  return st;
}
