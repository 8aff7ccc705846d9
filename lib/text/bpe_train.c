/* bpe_train.c -- learning merges, in the order of HF's BpeTrainer.
   SPDX-License-Identifier: Apache-2.0

   HF keeps a count for every pair and a queue of entries (count, pair, words in which the pair
   arose).  It takes the first entry; if the pair's count has changed since it was queued, the
   entry goes back with the new count; else the pair is merged in the entry's words.  Neighbours
   lose and win counts; every pair that won some gets an entry with the words where it did.  The
   merged pair's own count stays as it is.

   Here counts are not kept but taken when they are needed, from the places where a pair arose:
   the count of a pair is the weight of those places where it still stands, plus the weight of all
   that was merged of it before.  Most pairs never reach the front of the queue and cost nothing
   once queued.  A pair arises with the younger of its symbols, so it has one entry, whose places
   are all there are.  Only when a merge makes a token that was there before (its text was made by
   two different merges) may a pair get more entries: it is then "shared".  For shared pairs HF's
   rule matters that an entry's words are merged, and no others.
   Source: huggingface/tokenizers models/bpe/trainer.rs and word.rs.  */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "bpe_corpus.h"
#include "bpe_queue.h"
#include "bpe_train.h"

enum
{
  NO_PLACES = UINT32_MAX,
  LARGE = 4096,                 /* places that get memory of their own, freed once merged */
  CHUNK = 1 << 18,              /* places allocated together for small lists */
  TEMP_LARGE = 1 << 20,         /* the same in a temporary file, which has pages to waste but few mappings */
  TEMP_CHUNK = 1 << 23,
  AHEAD = 16,                   /* places fetched ahead */
  BREATH = 1024                 /* places between two looks at memory */
};

/* Where a pair arose, ascending.  Many places may be of the past.  */
struct places
{
  uint32_t *at;
  uint32_t n;
  uint32_t next;                /* the pair's next list, if it is shared */
  bool shared;
};

/* A pair that has been merged or is shared.  */
struct known_pair
{
  uint64_t pair;                /* UINT64_MAX where the slot is free */
  uint64_t merged;              /* weight of the places merged so far */
  uint32_t places;              /* its lists, if it is shared */
  uint32_t rule;                /* its last rule, or MM_BPE_NONE */
};

/* What one merge does to pairs of the new token and another on one side of it.  */
struct side
{
  uint64_t weight;
  uint32_t n;
  uint32_t list;                /* the places, once they are listed */
};

/* A pair of the new token arose at AT.  */
struct arisen
{
  uint32_t other, at;
};

enum { BEFORE, AFTER };         /* sides */

struct trainer
{
  struct mm_learnt *learnt;
  struct mm_corpus corpus;
  struct mm_bpe_queue queue;

  struct places *lists;
  size_t n_lists, lists_capacity;
  uint32_t large, chunk;        /* LARGE and CHUNK, as said above */
  uint32_t **chunks;
  size_t n_chunks, chunks_capacity, chunk_used;
  size_t touched_places;        /* since memory was looked at */

  struct known_pair *known;     /* open addressing, at most half full */
  size_t n_known, known_capacity;

  /* The merge under way.  */
  uint32_t left, right, made;
  uint32_t left_size, right_size;
  uint64_t merged;              /* weight of its places */
  struct side *sides[2];        /* by id */
  uint32_t *touched[2];         /* ids with a weight there */
  size_t n_touched[2];
  struct arisen *arisen[2];
  size_t n_arisen[2], arisen_capacity[2];
};

/* N places were touched: now and then memory is looked at.  */
static inline void
touch (struct trainer *t, size_t n)
{
  t->touched_places += n;
  if (t->touched_places >= BREATH)
    {
      t->touched_places = 0;
      mm_temp_breathe (t->corpus.temp);
    }
}

static uint64_t
pair_of (uint32_t left, uint32_t right)
{
  return (uint64_t) left << 32 | right;
}

/* ---- pairs merged or shared ---- */

static struct known_pair *
known_slot (const struct trainer *t, uint64_t pair)
{
  size_t i = (pair * UINT64_C (0x9e3779b97f4a7c15) >> 32) & (t->known_capacity - 1);

  while (t->known[i].pair != pair && t->known[i].pair != UINT64_MAX)
    i = (i + 1) & (t->known_capacity - 1);
  return t->known + i;
}

/* The record of PAIR, made if there is none.  */
static mm_status
know (struct trainer *t, uint64_t pair, struct known_pair **known)
{
  struct known_pair *old = t->known;
  size_t old_capacity = t->known_capacity;

  if (2 * (t->n_known + 1) > t->known_capacity)
    {
      size_t capacity = old_capacity ? 2 * old_capacity : 1024;
      struct known_pair *fresh;
      mm_status st = mm_alloc ("merged pairs", capacity, sizeof *fresh, &fresh);

      if (st < 0)
        return st;
      t->known = fresh;
      t->known_capacity = capacity;
      for (size_t i = 0; i < capacity; i++)
        fresh[i].pair = UINT64_MAX;
      for (size_t i = 0; i < old_capacity; i++)
        if (old[i].pair != UINT64_MAX)
          *known_slot (t, old[i].pair) = old[i];
      free (old);
    }
  *known = known_slot (t, pair);
  if ((*known)->pair != pair)
    {
      **known = (struct known_pair) { pair, 0, NO_PLACES, MM_BPE_NONE };
      t->n_known++;
    }
  return MM_OK;
}

/* ---- lists of places ---- */

/* A list with room for N places.  */
static mm_status
new_places (struct trainer *t, uint32_t n, uint32_t *list)
{
  mm_status st = mm_temp_grow (t->corpus.temp, "pairs", &t->lists, &t->lists_capacity, t->n_lists + 1,
                               sizeof *t->lists);
  uint32_t *at;

  if (st < 0)
    return st;
  if (t->n_lists >= NO_PLACES)
    return mm_fail (MM_EUNSUP, "the corpus has more than 4 G distinct pairs");
  if (n >= t->large)
    st = mm_temp_alloc (t->corpus.temp, "pairs", n, sizeof *at, &at);
  else
    {
      if (t->n_chunks == 0 || t->chunk_used + n > t->chunk)
        {
          st = mm_grow ("pairs", &t->chunks, &t->chunks_capacity, t->n_chunks + 1,
                        sizeof *t->chunks);
          if (st == MM_OK)
            st = mm_temp_alloc (t->corpus.temp, "pairs", t->chunk, sizeof **t->chunks,
                                &t->chunks[t->n_chunks]);
          if (st < 0)
            return st;
          t->n_chunks++;
          t->chunk_used = 0;
        }
      at = t->chunks[t->n_chunks - 1] + t->chunk_used;
      t->chunk_used += n;
    }
  if (st < 0)
    return st;
  t->lists[t->n_lists] = (struct places) { at, n, NO_PLACES, false };
  *list = (uint32_t) t->n_lists++;
  return MM_OK;
}

static void
free_places (struct trainer *t, struct places *p)
{
  if (p->n >= t->large)
    mm_temp_free (t->corpus.temp, p->at, p->n * sizeof *p->at);
  *p = (struct places) { NULL, 0, NO_PLACES, false };
}

/* The weight of the places in P where LEFT RIGHT still stands.  */
static uint64_t
weigh_places (struct trainer *t, const struct places *p, uint32_t left, uint32_t right)
{
  const uint32_t *symbols = t->corpus.symbols;
  uint32_t left_size = (uint32_t) t->learnt->tokens[left].size;
  uint64_t weight = 0;

  for (uint32_t i = 0; i < p->n; i++)
    {
      uint32_t at = p->at[i];

      if (i + AHEAD < p->n)
        __builtin_prefetch (symbols + p->at[i + AHEAD]);
      if (symbols[at] == left && symbols[at + left_size] == right)
        weight += mm_corpus_weight (&t->corpus, at);
      if (i % BREATH == BREATH - 1)
        touch (t, BREATH);
    }
  touch (t, p->n % BREATH);
  return weight;
}

/* The count that HF has for the pair of E.  */
static uint64_t
count_pair (struct trainer *t, const struct mm_bpe_entry *e)
{
  uint32_t left = (uint32_t) (e->pair >> 32), right = (uint32_t) e->pair;
  const struct known_pair *known;
  uint64_t count;

  if (!t->lists[e->places].shared)
    return weigh_places (t, t->lists + e->places, left, right);
  known = known_slot (t, e->pair);
  count = known->merged;
  for (uint32_t list = known->places; list != NO_PLACES; list = t->lists[list].next)
    count += weigh_places (t, t->lists + list, left, right);
  return count;
}

/* ---- one merge ---- */

/* The new token at AT has OTHER beside it: the pair with what was merged there loses WEIGHT, the
   pair with the new token wins it.  Places of the losing pair tell by themselves.  */
static inline void
note (struct trainer *t, int side, uint32_t other, uint32_t at, uint64_t weight)
{
  struct side *s = t->sides[side] + other;

  if (s->n++ == 0)
    t->touched[side][t->n_touched[side]++] = other;
  s->weight += weight;
  t->arisen[side][t->n_arisen[side]++] = (struct arisen) { other, at };
}

/* Merge LEFT at AT with RIGHT behind it.  */
static inline void
merge_at (struct trainer *t, uint32_t at)
{
  uint32_t *symbols = t->corpus.symbols, second = at + t->left_size;
  uint32_t end = second + t->right_size, before = symbols[at - 1], after = symbols[end];
  uint64_t weight = mm_corpus_weight (&t->corpus, at);

  t->merged += weight;
  if (before != MM_SYMBOL_SEPARATOR)
    note (t, BEFORE, before, at - (uint32_t) t->learnt->tokens[before].size, weight);
  if (after != MM_SYMBOL_SEPARATOR)
    note (t, AFTER, after, at, weight);
  symbols[second - 1] = symbols[second] = MM_SYMBOL_GONE;
  symbols[at] = symbols[end - 1] = t->made;
}

static mm_status
reserve_arisen (struct trainer *t, size_t n)
{
  mm_status st = MM_OK;

  for (int side = BEFORE; st == MM_OK && side <= AFTER; side++)
    st = mm_temp_grow (t->corpus.temp, "pairs", &t->arisen[side], &t->arisen_capacity[side],
                       t->n_arisen[side] + n, sizeof **t->arisen);
  return st;
}

/* Merge all places of P, which are all places of the pair.  */
static mm_status
merge_places (struct trainer *t, const struct places *p)
{
  uint32_t *symbols = t->corpus.symbols;
  mm_status st = reserve_arisen (t, p->n);

  for (uint32_t i = 0; st == MM_OK && i < p->n; i++)
    {
      uint32_t at = p->at[i];

      if (i + AHEAD < p->n)
        __builtin_prefetch (symbols + p->at[i + AHEAD]);
      if (symbols[at] == t->left && symbols[at + t->left_size] == t->right)
        merge_at (t, at);
      touch (t, 1);
    }
  return st;
}

/* Merge the pair everywhere in the pieces in which P has places.  */
static mm_status
merge_pieces (struct trainer *t, const struct places *p)
{
  const uint32_t *symbols = t->corpus.symbols;
  uint32_t done = 0;            /* pieces before here are merged */
  mm_status st;

  for (uint32_t i = 0; i < p->n; i++)
    {
      uint32_t at = p->at[i], end;

      if (at < done)
        continue;
      for (end = at; symbols[end] != MM_SYMBOL_SEPARATOR; end++)
        ;
      for (; symbols[at - 1] != MM_SYMBOL_SEPARATOR; at--)
        ;
      st = reserve_arisen (t, end - at);
      if (st < 0)
        return st;
      for (; at < end; at += (uint32_t) t->learnt->tokens[symbols[at]].size)
        if (symbols[at] == t->left && symbols[at + t->left_size] == t->right)
          merge_at (t, at);
      done = end;
    }
  return MM_OK;
}

/* ---- pairs that arose ---- */

static int
by_place (const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

  return x < y ? -1 : x > y;
}

/* The queue's entries of pairs that hold the token made become shared, if the pair arose again:
   it was made before.  */
static mm_status
share_entries (struct trainer *t, const struct mm_bpe_entry *entries, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      uint32_t left = (uint32_t) (entries[i].pair >> 32), right = (uint32_t) entries[i].pair;
      struct places *list = t->lists + entries[i].places;
      struct known_pair *known;
      mm_status st;

      if (!((left == t->made && t->sides[AFTER][right].n > 0)
            || (right == t->made && t->sides[BEFORE][left].n > 0)) || list->shared)
        continue;
      st = know (t, entries[i].pair, &known);
      if (st < 0)
        return st;
      list->shared = true;
      list->next = known->places;
      known->places = entries[i].places;
    }
  return MM_OK;
}

/* Only where the token was there before may it have stood behind itself: then its pair with itself
   arose on both sides, and is taken to be on one, its places in order.  */
static void
join_sides (struct trainer *t)
{
  struct side *before = t->sides[BEFORE] + t->made, *after = t->sides[AFTER] + t->made;
  struct arisen *from = t->arisen[AFTER];
  size_t kept = 0;

  if (before->n == 0 || after->n == 0)
    return;
  for (size_t i = 0; i < t->n_arisen[AFTER]; i++)
    if (from[i].other == t->made)
      t->arisen[BEFORE][t->n_arisen[BEFORE]++] = from[i];
    else
      from[kept++] = from[i];
  t->n_arisen[AFTER] = kept;
  before->n += after->n;
  before->weight += after->weight;
  *after = (struct side) { 0 };
}

/* Queue the pair of the new token that arose with WEIGHT at the places of LIST.  */
static mm_status
queue_pair (struct trainer *t, uint64_t pair, uint32_t list, uint64_t weight, bool fresh)
{
  struct mm_bpe_entry entry = { weight, pair, list };
  struct places *places = t->lists + list;

  if (!fresh)
    {
      struct known_pair *known = known_slot (t, pair);

      if (pair == pair_of (t->made, t->made))
        qsort (places->at, places->n, sizeof *places->at, by_place);
      /* Merged before, or queued: HF's count is more than what arose.  */
      if (known->pair == pair)
        {
          places->shared = true;
          places->next = known->places;
          known->places = list;
        }
    }
  /* What arose beside a place that was merged afterwards is gone again.  */
  if (!fresh || pair == pair_of (t->made, t->left))
    entry.count = count_pair (t, &entry);
  return entry.count > 0 ? mm_bpe_queue_push (&t->queue, entry) : MM_OK;
}

/* Give every pair that arose on SIDE its list of places, and queue it.  */
static mm_status
queue_side (struct trainer *t, int side, bool fresh)
{
  uint32_t list = 0;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < t->n_touched[side]; i++)
    {
      struct side *s = t->sides[side] + t->touched[side][i];

      if (s->n > 0)
        st = new_places (t, s->n, &list);
      s->list = list;
      s->n = 0;
    }
  for (size_t i = 0; st == MM_OK && i < t->n_arisen[side]; i++)
    {
      struct side *s = t->sides[side] + t->arisen[side][i].other;

      t->lists[s->list].at[s->n++] = t->arisen[side][i].at;
      touch (t, 1);
    }
  for (size_t i = 0; i < t->n_touched[side]; i++)
    {
      uint32_t other = t->touched[side][i];
      struct side *s = t->sides[side] + other;

      if (st == MM_OK && s->n > 0)
        st = queue_pair (t, side == BEFORE ? pair_of (other, t->made) : pair_of (t->made, other),
                         s->list, s->weight, fresh);
      *s = (struct side) { 0 };
    }
  t->n_touched[side] = t->n_arisen[side] = 0;
  return st;
}

static mm_status
queue_arisen (struct trainer *t, bool fresh)
{
  mm_status st = MM_OK;

  if (!fresh)
    {
      join_sides (t);
      st = share_entries (t, t->queue.heap, t->queue.n_heap);
      if (st == MM_OK)
        st = share_entries (t, t->queue.rest, t->queue.n_rest);
    }
  if (st == MM_OK)
    st = queue_side (t, BEFORE, fresh);
  if (st == MM_OK)
    st = queue_side (t, AFTER, fresh);
  return st;
}

/* ---- the first pairs ---- */

struct first_pair
{
  uint64_t pair;                /* UINT64_MAX where the slot is free */
  uint64_t weight;
  uint32_t n, list;
};

/* Those of bytes have a slot each, of others each finds one.  */
struct first_pairs
{
  struct first_pair *slots;
  size_t n, capacity;
  uint8_t *byte_of;             /* of an id; NULL: not of bytes */
};

static struct first_pair *
first_slot (const struct first_pairs *f, uint32_t left, uint32_t right)
{
  uint64_t pair = pair_of (left, right);
  size_t i;

  if (f->byte_of)
    return f->slots + (f->byte_of[left] << 8 | f->byte_of[right]);
  i = (pair * UINT64_C (0x9e3779b97f4a7c15) >> 32) & (f->capacity - 1);
  while (f->slots[i].pair != pair && f->slots[i].pair != UINT64_MAX)
    i = (i + 1) & (f->capacity - 1);
  return f->slots + i;
}

/* CAPACITY slots, a power of two, for what is in F, which may have more then.  */
static mm_status
resize_first (struct first_pairs *f, size_t capacity)
{
  struct first_pairs old = *f;
  mm_status st = mm_alloc ("pairs", capacity, sizeof *f->slots, &f->slots);

  if (st < 0)
    {
      *f = old;
      return st;
    }
  f->capacity = capacity;
  for (size_t i = 0; i < capacity; i++)
    f->slots[i].pair = UINT64_MAX;
  for (size_t i = 0; i < old.capacity; i++)
    if (old.slots[i].pair != UINT64_MAX)
      *first_slot (f, (uint32_t) (old.slots[i].pair >> 32), (uint32_t) old.slots[i].pair) = old.slots[i];
  free (old.slots);
  return MM_OK;
}

static mm_status
count_first (struct trainer *t, struct first_pairs *f, uint32_t left, uint32_t right, uint32_t at)
{
  struct first_pair *slot = first_slot (f, left, right);

  if (slot->pair == UINT64_MAX)
    {
      *slot = (struct first_pair) { .pair = pair_of (left, right) };
      f->n++;
    }
  slot->n++;
  slot->weight += mm_corpus_weight (&t->corpus, at);
  return f->byte_of || 2 * f->n < f->capacity ? MM_OK : resize_first (f, 2 * f->capacity);
}

static mm_status
place_first (struct trainer *t, struct first_pairs *f, uint32_t left, uint32_t right, uint32_t at)
{
  struct places *p = t->lists + first_slot (f, left, right)->list;

  p->at[p->n++] = at;
  return MM_OK;
}

/* Call EACH for every pair of neighbours and its place, until it fails.  */
static inline __attribute__ ((always_inline)) mm_status
each_pair (struct trainer *t, struct first_pairs *f,
           mm_status each (struct trainer *, struct first_pairs *, uint32_t, uint32_t, uint32_t))
{
  const uint32_t *symbols = t->corpus.symbols;
  mm_status st = MM_OK;

  for (size_t at = 1, next; st == MM_OK && at + 1 < t->corpus.n; at = next, touch (t, 1))
    if (symbols[at] == MM_SYMBOL_SEPARATOR)
      next = at + 1;
    else
      {
        next = at + t->learnt->tokens[symbols[at]].size;
        if (symbols[next] != MM_SYMBOL_SEPARATOR)
          st = each (t, f, symbols[at], symbols[next], (uint32_t) at);
      }
  return st;
}

static mm_status
open_first (struct trainer *t, struct first_pairs *f)
{
  const uint32_t *bytes = t->learnt->bytes;
  mm_status st = MM_OK;

  *f = (struct first_pairs) { 0 };
  if (!t->learnt->base)
    {
      st = mm_alloc ("pairs", t->learnt->n_tokens, 1, &f->byte_of);
      for (unsigned c = 0; st == MM_OK && c < 256; c++)
        f->byte_of[bytes[c]] = (uint8_t) c;
    }
  return st < 0 ? st : resize_first (f, 1 << 16);
}

/* Queue all pairs that there are.  */
static mm_status
queue_first (struct trainer *t)
{
  struct first_pairs f;
  mm_status st = open_first (t, &f);

  if (st == MM_OK)
    st = each_pair (t, &f, count_first);
  for (size_t i = 0; st == MM_OK && i < f.capacity; i++)
    if (f.slots[i].pair != UINT64_MAX)
      {
        struct first_pair *slot = f.slots + i;

        st = new_places (t, slot->n, &slot->list);
        if (st == MM_OK)
          {
            t->lists[slot->list].n = 0;
            st = mm_bpe_queue_push (&t->queue, (struct mm_bpe_entry) { slot->weight, slot->pair, slot->list });
          }
      }
  if (st == MM_OK)
    st = each_pair (t, &f, place_first);
  free (f.byte_of);
  free (f.slots);
  return st;
}

/* ---- the loop ---- */

/* Merge the pair of E and queue what arises.  */
static mm_status
merge (struct trainer *t, const struct mm_bpe_entry *e)
{
  struct mm_learnt *l = t->learnt;
  struct places list = t->lists[e->places];
  struct known_pair *known;
  bool fresh = false;
  mm_status st;

  t->left = (uint32_t) (e->pair >> 32);
  t->right = (uint32_t) e->pair;
  t->left_size = (uint32_t) l->tokens[t->left].size;
  t->right_size = (uint32_t) l->tokens[t->right].size;
  t->merged = 0;
  st = mm_learnt_join (l, t->left, t->right, &t->made, &fresh);
  /* A token of that text is there, and merges of the base may lie in wait for it.  */
  if (st == MM_OK && l->base && !fresh)
    {
      free_places (t, t->lists + e->places);
      return MM_OK;
    }
  if (st == MM_OK)
    st = mm_grow ("merges", &l->rules, &l->rules_capacity, l->n_rules + 1, sizeof *l->rules);
  if (st == MM_OK)
    st = know (t, e->pair, &known);
  if (st < 0)
    return st;
  if (known->rule != MM_BPE_NONE)
    l->rules[known->rule].left = MM_BPE_NONE;
  known->rule = (uint32_t) l->n_rules;
  l->rules[l->n_rules++] = (struct mm_bpe_rule) { t->left, t->right, t->made };
  if (list.shared)
    {
      uint32_t *link = &known->places;

      while (*link != e->places)
        link = &t->lists[*link].next;
      *link = list.next;
    }
  st = list.shared ? merge_pieces (t, &list) : merge_places (t, &list);
  known->merged += t->merged;
  free_places (t, t->lists + e->places);
  return st < 0 ? st : queue_arisen (t, fresh);
}

static mm_status
learn (struct trainer *t, size_t vocab_size)
{
  mm_status st = MM_OK;

  while (st == MM_OK && t->learnt->n_tokens < vocab_size)
    {
      struct mm_bpe_entry e;
      uint64_t count;
      bool some;

      if (mm_progress_due ())
        mm_progress ("learning: %zu of %zu tokens", t->learnt->n_tokens, vocab_size);
      st = mm_bpe_queue_pop (&t->queue, &e, &some);
      if (st < 0 || !some)
        break;
      count = count_pair (t, &e);
      if (count != e.count)
        {
          e.count = count;
          st = mm_bpe_queue_push (&t->queue, e);
        }
      else if (count == 0)
        break;
      else
        st = merge (t, &e);
    }
  mm_progress_end ();
  return st;
}

static void
free_trainer (struct trainer *t)
{
  struct mm_temp *temp = t->corpus.temp;

  for (size_t i = 0; i < t->n_lists; i++)
    free_places (t, t->lists + i);
  for (size_t i = 0; i < t->n_chunks; i++)
    mm_temp_free (temp, t->chunks[i], t->chunk * sizeof **t->chunks);
  mm_temp_free (temp, t->lists, t->lists_capacity * sizeof *t->lists);
  free (t->chunks);
  free (t->known);
  for (int side = BEFORE; side <= AFTER; side++)
    {
      free (t->sides[side]);
      free (t->touched[side]);
      mm_temp_free (temp, t->arisen[side], t->arisen_capacity[side] * sizeof **t->arisen);
    }
  mm_bpe_queue_free (&t->queue);
  mm_corpus_free (&t->corpus);
}

/* Count what the corpus consists of now.  */
static void
count_uses (struct trainer *t)
{
  const uint32_t *symbols = t->corpus.symbols;
  struct mm_learnt *l = t->learnt;

  for (size_t at = 1, next; at < t->corpus.n; at = next, touch (t, 1))
    if (symbols[at] == MM_SYMBOL_SEPARATOR)
      next = at + 1;
    else
      {
        next = at + l->tokens[symbols[at]].size;
        l->uses[symbols[at]] += mm_corpus_weight (&t->corpus, (uint32_t) at);
      }
}

mm_status
mm_bpe_train (struct mm_learnt *l, struct mm_counter *counter, uint64_t max_memory, size_t vocab_size,
              uint64_t *distinct)
{
  struct trainer t = { .learnt = l, .queue.threshold = UINT64_MAX, .large = LARGE, .chunk = CHUNK };
  mm_status st = mm_alloc ("vocabulary", vocab_size, sizeof *l->uses, &l->uses);

  if (st == MM_OK)
    st = mm_corpus_build (&t.corpus, counter, max_memory,
                          &(struct mm_corpus_start) { l->bytes, l->base, l->uses });
  mm_counter_release (counter);
  *distinct = t.corpus.distinct;
  t.queue.temp = t.corpus.temp;
  if (t.corpus.temp)
    {
      t.large = TEMP_LARGE;
      t.chunk = TEMP_CHUNK;
    }
  for (int side = BEFORE; st == MM_OK && side <= AFTER; side++)
    {
      st = mm_alloc ("vocabulary", vocab_size, sizeof **t.sides, &t.sides[side]);
      if (st == MM_OK)
        st = mm_alloc ("vocabulary", vocab_size, sizeof **t.touched, &t.touched[side]);
    }
  if (st == MM_OK)
    st = queue_first (&t);
  if (st == MM_OK)
    st = learn (&t, vocab_size);
  if (st == MM_OK)
    count_uses (&t);
  free_trainer (&t);
  return st;
}
