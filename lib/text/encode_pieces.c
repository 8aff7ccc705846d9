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

#include <minimind/memory.h>

#include "encode_pieces.h"
#include "piece_key.h"
#include "vector.h"

enum
{
  NARROW_IDS = 7, WIDE_IDS = 3, /* ids that an entry holds, of 16 and of 32 bits */
  NARROW_MORE = 8, WIDE_MORE = 4,       /* in the place of the other entry, if that is taken too */
  COPIED_IDS = 8,               /* ids written for an entry, however many it holds */
  CACHE_BITS = 17,              /* slots: 8 MB */
  LONG_BITS = 12, LONG_ROOM = 1 << 17,  /* what does not fit there: places, and words of texts and ids: 576 kB */
  LONG_BYTES = 2048,            /* what is longer is not remembered */
  BATCH = 512                   /* pieces; parts */
};

#define HIGH UINT64_C (0x8080808080808080)
#define NO_KEY UINT64_MAX       /* never in the cache */

union entry
{
  struct { uint16_t ids[NARROW_IDS], count; } narrow;
  struct { uint32_t ids[WIDE_IDS], count; } wide;
  uint16_t narrow_more[NARROW_MORE];
  uint32_t wide_more[WIDE_MORE];
};

/* Two entries in one cache line; a new one takes the first place.  One of many ids takes both: its key is the first,
   and the second is that of no part.  */
struct slot
{
  uint64_t key[2][2];           /* zero where it is free: no part has length 0 */
  union entry entry[2];
};

/* A text and its ids in the store, the ids first.  All are forgotten when the store is full.  */
struct long_entry
{
  uint32_t at;                  /* word of the store */
  uint16_t size, count;         /* size 0 where it is free */
};

struct part
{
  uint64_t key[2];              /* of a part that is too long for one: its size, NO_KEY */
  struct slot *slot;
  size_t at;
};

/* The inner loops for one kind of vectors.  */
struct loops
{
  uint64_t (*hash) (const uint64_t key[2]);     /* its highest bits are the best */
  size_t (*short_pieces) (struct mm_pieces *p, const char *text, size_t size, size_t at);
  size_t (*other_piece) (struct mm_pieces *p, const char *text, size_t size, size_t at, size_t end);
  mm_status (*copy) (struct mm_pieces *p, const char *text, struct mm_ids *ids);
};

struct mm_pieces
{
  const struct mm_tokenizer *t;
  const struct loops *loops;
  struct mm_arena arena;
  struct slot *cache;
  struct long_entry *longs;
  uint32_t *store;
  size_t stored;                /* words */
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
  p->store = mm_arena_take (&p->arena, LONG_ROOM, sizeof *p->store);
}

static const struct loops *find_loops (void);

mm_status
mm_pieces_open (const struct mm_tokenizer *t, struct mm_pieces **out)
{
  struct mm_pieces *p;
  mm_status st = mm_alloc ("encoder", 1, sizeof *p, &p);

  *out = NULL;
  if (st < 0)
    return st;
  p->t = t;
  p->loops = find_loops ();
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

static void
remember_text (struct mm_pieces *p, struct long_entry *entry, const char *text, size_t size, const uint32_t *ids,
               size_t count)
{
  size_t words = count + (size + sizeof *p->store - 1) / sizeof *p->store;

  if (p->stored + words > LONG_ROOM)
    {
      memset (p->longs, 0, ((size_t) 1 << LONG_BITS) * sizeof *p->longs);
      p->stored = 0;
    }
  *entry = (struct long_entry) { (uint32_t) p->stored, (uint16_t) size, (uint16_t) count };
  memcpy (p->store + p->stored, ids, count * sizeof *ids);
  memcpy (p->store + p->stored + count, text, size);
  p->stored += words;
}

/* The same by way of the small cache.  */
static mm_status
encode_text (struct mm_pieces *p, const char *text, size_t size, uint32_t *ids, size_t *count)
{
  struct long_entry *entry;
  mm_status st;

  if (size > LONG_BYTES)
    return encode_part (p, text, size, ids, count);
  entry = p->longs + (mm_text_hash (text, size) >> (64 - LONG_BITS));
  if (entry->size == size && memcmp (p->store + entry->at + entry->count, text, size) == 0)
    {
      memcpy (ids, p->store + entry->at, entry->count * sizeof *ids);
      *count = entry->count;
      return MM_OK;
    }
  st = encode_part (p, text, size, ids, count);
  if (st == MM_OK)
    remember_text (p, entry, text, size, ids, *count);
  return st;
}

/* Put the COUNT ids of the part with this KEY into SLOT if they fit.  */
static void
remember (const struct mm_pieces *p, struct slot *slot, const uint64_t key[2], const uint32_t *ids, size_t count)
{
  size_t own = p->narrow ? NARROW_IDS : WIDE_IDS, most = own + (p->narrow ? NARROW_MORE : WIDE_MORE);
  union entry *first = &slot->entry[0], *second = &slot->entry[1];
  bool first_is_whole = (p->narrow ? first->narrow.count : first->wide.count) <= own;

  if (count > most)
    return;
  memcpy (slot->key[1], first_is_whole && count <= own ? slot->key[0] : (const uint64_t[2]) { 0 }, sizeof *slot->key);
  memcpy (slot->key[0], key, sizeof *slot->key);
  *second = *first;
  for (size_t i = 0; i < count; i++)
    if (p->narrow)
      *(i < own ? &first->narrow.ids[i] : &second->narrow_more[i - own]) = (uint16_t) ids[i];
    else
      *(i < own ? &first->wide.ids[i] : &second->wide_more[i - own]) = ids[i];
  if (p->narrow)
    first->narrow.count = (uint16_t) count;
  else
    first->wide.count = (uint32_t) count;
}

/* Encode a part that is not in its slot.  Of wide ids there may be more than that holds.  */
static mm_status
encode_new (struct mm_pieces *p, const struct part *part, const char *text, uint32_t *ids,
            size_t *count)
{
  size_t size = part->key[1] >> 56;
  mm_status st = p->narrow || size <= WIDE_IDS + WIDE_MORE ? encode_part (p, text, size, ids, count)
                                                           : encode_text (p, text, size, ids, count);

  if (st == MM_OK)
    remember (p, part->slot, part->key, ids, *count);
  return st;
}

__attribute__ ((noinline)) static mm_status
encode_missing (struct mm_pieces *p, const struct part *part, const char *text, uint32_t *ids,
                size_t *count)
{
  return part->key[1] == NO_KEY ? encode_text (p, text + part->at, part->key[0], ids, count)
                                : encode_new (p, part, text + part->at, ids, count);
}

/* ---- pieces to parts ---- */

static inline struct slot *
slot_of (const struct mm_pieces *p, uint64_t hash)
{
  return p->cache + (hash >> (64 - CACHE_BITS));
}

/* Make parts of the pieces that were found, from AT on, as far as there is room; returns the place
   reached.  */
static size_t
find_parts (struct mm_pieces *p, const char *text, size_t size, size_t at)
{
  for (p->n_parts = 0;;)
    {
      at = p->loops->short_pieces (p, text, size, at);
      if (p->next_piece == p->n_pieces || p->n_parts == BATCH)
        return at;
      at = p->loops->other_piece (p, text, size, at, p->ends[p->next_piece]);
      if (at < p->ends[p->next_piece])
        return at;
      p->next_piece++;
    }
}

/* ---- the inner loops ---- */

/* Make PART for the LENGTH <= MM_KEY_BYTES bytes at AT, behind which there are as many as a key
   takes, and call for its cache line; false if they are not ASCII.  */
typedef bool make_part_fn (const struct mm_pieces *p, const char *text, size_t at, size_t length,
                           struct part *part);

/* Write the ids of PART from the cache to OUT, and more behind them up to COPIED_IDS; *COUNT is
   their number.  False if they are not there.  */
typedef bool copy_part_fn (const struct part *part, bool narrow, uint32_t *out, size_t *count);

/* Make parts of short pieces of ASCII, from AT on, as long as there are such and room; returns the
   place reached.  */
static inline __attribute__ ((always_inline)) size_t
add_short_pieces (make_part_fn *make_part, struct mm_pieces *p, const char *text, size_t size,
                  size_t at)
{
  struct part *part = p->parts + p->n_parts;
  size_t i = p->next_piece, left = p->n_pieces - i, room = BATCH - p->n_parts;
  size_t last = size < 16 ? 0 : size - 16;      /* place where a key may be read */

  for (const size_t stop = size < 16 ? i : i + (left < room ? left : room); i < stop; i++, part++)
    {
      size_t length = p->ends[i] - at;

      if (length > MM_KEY_BYTES || at > last || !make_part (p, text, at, length, part))
        break;
      at += length;
    }
  p->next_piece = i;
  p->n_parts = (size_t) (part - p->parts);
  return at;
}

/* Make the part for the LENGTH bytes at AT, near the end of a text of SIZE bytes or longer than a key.  */
static inline void
make_part_anywhere (const struct mm_pieces *p, const char *text, size_t size, size_t at, size_t length,
                    struct part *part)
{
  part->key[0] = length;
  part->key[1] = NO_KEY;
  if (length <= MM_KEY_BYTES)
    mm_piece_key (text + at, length, size - at, part->key);
  part->slot = slot_of (p, p->loops->hash (part->key));
  part->at = at;
  __builtin_prefetch (part->slot);
}

/* Add the parts of a piece from AT to END as far as there is room; returns the place reached.  */
static inline __attribute__ ((always_inline)) size_t
add_parts (make_part_fn *make_part, struct mm_pieces *p, const char *text, size_t size, size_t at, size_t end)
{
  struct part *part = p->parts + p->n_parts;
  const struct mm_seams *seams = p->t->seams;

  for (; at < end && part < p->parts + BATCH; part++)
    {
      size_t stop = seams ? mm_seam_next (seams, text, at, end) : end, length = stop - at;

      if (length <= MM_KEY_BYTES && size - at >= 16)
        make_part (p, text, at, length, part);
      else
        make_part_anywhere (p, text, size, at, length, part);
      at = stop;
    }
  p->n_parts = (size_t) (part - p->parts);
  return at;
}

/* Append the ids of all parts; IDS has room for a byte each and COPIED_IDS more.  */
static inline __attribute__ ((always_inline)) mm_status
copy_parts (copy_part_fn *copy_part, struct mm_pieces *p, const char *text, bool narrow,
            struct mm_ids *ids)
{
  const struct part *end = p->parts + p->n_parts;
  uint32_t *out = ids->data + ids->count;

  for (const struct part *part = p->parts; part < end; part++)
    {
      size_t count;

      if (!__builtin_expect (copy_part (part, narrow, out, &count), true))
        {
          mm_status st = encode_missing (p, part, text, out, &count);

          if (st < 0)
            return st;
        }
      out += count;
    }
  ids->count = (size_t) (out - ids->data);
  return MM_OK;
}

static inline bool
make_part_plain (const struct mm_pieces *p, const char *text, size_t at, size_t length,
                 struct part *part)
{
  mm_piece_key (text + at, length, 16, part->key);
  part->at = at;
  part->slot = slot_of (p, mm_key_hash (part->key));
  __builtin_prefetch (part->slot);
  return ((part->key[0] | part->key[1]) & HIGH) == 0;
}

static inline bool
copy_part_plain (const struct part *part, bool narrow, uint32_t *out, size_t *count)
{
  const struct slot *slot = part->slot;
  size_t which = !mm_key_same (slot->key[0], part->key);
  const union entry *entry = slot->entry + which;

  if (which && !mm_key_same (slot->key[1], part->key))
    return false;
  for (int k = 0; k < (narrow ? NARROW_IDS : WIDE_IDS); k++)
    out[k] = narrow ? entry->narrow.ids[k] : entry->wide.ids[k];
  *count = narrow ? entry->narrow.count : entry->wide.count;
  if (__builtin_expect (*count > (narrow ? NARROW_IDS : WIDE_IDS), false))
    for (int k = 0; k < (narrow ? NARROW_MORE : WIDE_MORE); k++)
      out[k + (narrow ? NARROW_IDS : WIDE_IDS)] = narrow ? entry[1].narrow_more[k] : entry[1].wide_more[k];
  return true;
}

static size_t
short_pieces_plain (struct mm_pieces *p, const char *text, size_t size, size_t at)
{
  return add_short_pieces (make_part_plain, p, text, size, at);
}

static size_t
other_piece_plain (struct mm_pieces *p, const char *text, size_t size, size_t at, size_t end)
{
  return add_parts (make_part_plain, p, text, size, at, end);
}

static mm_status
copy_plain (struct mm_pieces *p, const char *text, struct mm_ids *ids)
{
  return p->narrow ? copy_parts (copy_part_plain, p, text, true, ids)
                   : copy_parts (copy_part_plain, p, text, false, ids);
}

static const struct loops plain_loops = { mm_key_hash, short_pieces_plain, other_piece_plain, copy_plain };

#if defined __x86_64__ && defined __GNUC__

# include "byte_class_x86.h"

/* Two rounds of AES mix each bit of the key into all others.  */
MM_TARGET_AVX2 static inline uint64_t
hash_vector (__m128i key)
{
  const __m128i round = _mm_set1_epi64x (0x9e3779b97f4a7c15);

  return (uint64_t) _mm_cvtsi128_si64 (_mm_aesenc_si128 (_mm_aesenc_si128 (key, round), round));
}

MM_TARGET_AVX2 static uint64_t
hash_avx2 (const uint64_t key[2])
{
  return hash_vector (_mm_loadu_si128 ((const __m128i *) key));
}

MM_TARGET_AVX2 static inline bool
make_part_avx2 (const struct mm_pieces *p, const char *text, size_t at, size_t length,
                struct part *part)
{
  /* From 16 - n on: n bytes kept, the others cleared.  */
  static const unsigned char keep[32] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255
  };
  __m128i key = _mm_and_si128 (_mm_loadu_si128 ((const __m128i *) (text + at)),
                               _mm_loadu_si128 ((const __m128i *) (keep + 16 - length)));
  int high = _mm_movemask_epi8 (key);

  key = _mm_insert_epi8 (key, (int) length, 15);
  part->slot = slot_of (p, hash_vector (key));
  __builtin_prefetch (part->slot);
  _mm_storeu_si128 ((__m128i *) part->key, key);
  part->at = at;
  return high == 0;
}

MM_TARGET_AVX2 static inline void
store_ids (const union entry *entry, bool narrow, uint32_t *out)
{
  __m128i ids = _mm_load_si128 ((const __m128i *) entry);

  if (narrow)
    _mm256_storeu_si256 ((__m256i *) out, _mm256_cvtepu16_epi32 (ids));
  else
    _mm_storeu_si128 ((__m128i *) out, ids);
}

MM_TARGET_AVX2 static inline bool
copy_part_avx2 (const struct part *part, bool narrow, uint32_t *out, size_t *count)
{
  const struct slot *slot = part->slot;
  __m256i key = _mm256_broadcastsi128_si256 (_mm_loadu_si128 ((const __m128i *) part->key));
  __m256i keys = _mm256_load_si256 ((const __m256i *) slot->key);
  __m256d same = _mm256_castsi256_pd (_mm256_cmpeq_epi64 (key, keys));
  unsigned words = (unsigned) _mm256_movemask_pd (same);
  unsigned found = words & words >> 1 & 5;      /* 1 in the first entry, 4 in the second */
  const union entry *entry = slot->entry + (found >> 2);

  if (found == 0)
    return false;
  store_ids (entry, narrow, out);
  *count = narrow ? entry->narrow.count : entry->wide.count;
  if (__builtin_expect (*count > (narrow ? NARROW_IDS : WIDE_IDS), false))
    store_ids (entry + 1, narrow, out + (narrow ? NARROW_IDS : WIDE_IDS));
  return true;
}

MM_TARGET_AVX2 static size_t
short_pieces_avx2 (struct mm_pieces *p, const char *text, size_t size, size_t at)
{
  return add_short_pieces (make_part_avx2, p, text, size, at);
}

MM_TARGET_AVX2 static size_t
other_piece_avx2 (struct mm_pieces *p, const char *text, size_t size, size_t at, size_t end)
{
  return add_parts (make_part_avx2, p, text, size, at, end);
}

MM_TARGET_AVX2 static mm_status
copy_avx2 (struct mm_pieces *p, const char *text, struct mm_ids *ids)
{
  return p->narrow ? copy_parts (copy_part_avx2, p, text, true, ids)
                   : copy_parts (copy_part_avx2, p, text, false, ids);
}

static const struct loops avx2_loops = { hash_avx2, short_pieces_avx2, other_piece_avx2, copy_avx2 };

#else
# define avx2_loops plain_loops
#endif

static const struct loops *
find_loops (void)
{
  return mm_vector_best () >= MM_VECTOR_AVX2 ? &avx2_loops : &plain_loops;
}

/* ---- all together ---- */

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
        st = p->loops->copy (p, text, ids);
    }
  return st;
}
