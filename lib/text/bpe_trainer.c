/* bpe_trainer.c -- counting documents, then learning from them.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/bpe_trainer.h>
#include <minimind/memory.h>
#include <minimind/tokenizer.h>

#include "bpe_count.h"
#include "bpe_train.h"
#include "bpe_write.h"
#include "byte_table.h"
#include "tokenizer_impl.h"

struct mm_bpe_trainer
{
  struct mm_bpe_options o;
  char **special;               /* copies; o.special points to them */
  char *folder;                 /* likewise */
  enum mm_pattern pattern;
  struct mm_counter *counter;
  uint64_t distinct;
  uint64_t *uses;
  bool finished;
};

/* In the order of enum mm_pattern.  */
const char *const mm_bpe_patterns[] = { "gpt2", "qwen2", "llama3", "cl100k", "o200k", "qwen3.5", NULL };

/* ---- opening ---- */

/* Keep copies of the special tokens and let the roles point to them.  */
static mm_status
copy_special (struct mm_bpe_trainer *t, const struct mm_bpe_options *o)
{
  const char **roles[] = { &t->o.bos, &t->o.eos, &t->o.pad, &t->o.unk };
  const char *wanted[] = { o->bos, o->eos, o->pad, o->unk };
  mm_status st = mm_alloc ("special tokens", o->n_special, sizeof *t->special, &t->special);

  if (st < 0)
    return st;
  for (size_t i = 0; i < o->n_special; i++)
    if (!(t->special[i] = strdup (o->special[i])))
      return mm_fail (MM_ENOMEM, "special tokens: out of memory");
  t->o.special = (const char *const *) t->special;
  for (size_t r = 0; r < 4; r++)
    {
      *roles[r] = NULL;
      for (size_t i = 0; wanted[r] && i < o->n_special; i++)
        if (strcmp (wanted[r], t->special[i]) == 0)
          *roles[r] = t->special[i];
      if (wanted[r] && !*roles[r])
        return mm_fail (MM_EUSAGE, "%s has a role but is not one of the special tokens", wanted[r]);
    }
  return MM_OK;
}

static mm_status
check_special (const struct mm_bpe_options *o)
{
  for (size_t i = 0; i < o->n_special; i++)
    {
      const char *s = o->special[i];
      size_t size = strlen (s);

      if (size == 0)
        return mm_fail (MM_EUSAGE, "a special token is empty");
      if (size > MM_ADDED_LONGEST)
        return mm_fail (MM_EUSAGE, "a special token has %zu bytes, at most %d are supported", size,
                        MM_ADDED_LONGEST);
      if (mm_utf8_check (s, size, NULL) < size)
        return mm_fail (MM_EUSAGE, "special token %s is not valid UTF-8", s);
      for (size_t k = 0; mm_is_table_text (s) && k < size; k++)
        if ((unsigned char) s[k] >= 0x80)
          return mm_fail (MM_EUSAGE, "special token %s is how the vocabulary spells other bytes", s);
      for (size_t j = 0; j < i; j++)
        if (strcmp (s, o->special[j]) == 0)
          return mm_fail (MM_EUSAGE, "special token %s is given twice", s);
    }
  return MM_OK;
}

/* A token that would be found as a whole piece, once it stands in the vocabulary.  */
static mm_status
check_whole_pieces (const struct mm_tokenizer *t)
{
  size_t ends[MM_PIECES_MIN];

  for (size_t i = 0; t->ignore_merges && i < t->n_added; i++)
    if (t->added[i].special && mm_trie_find (&t->vocabulary, t->added[i].text, t->added[i].size) == MM_TRIE_NONE
        && (t->pattern == MM_PATTERN_GENERAL
            || mm_pretokenize (t->pattern, t->added[i].text, t->added[i].size, 0, ends, MM_PIECES_MIN) == 1))
      return mm_fail (MM_EUNSUP, "a tokenizer with ignore_merges and the special token %.*s, which is one word, cannot "
                      "be extended: text like it would become the token", (int) t->added[i].size, t->added[i].text);
  return MM_OK;
}

static mm_status
check_base (const struct mm_bpe_options *o)
{
  if (o->n_special > 0 || o->bos || o->eos || o->pad || o->unk)
    return mm_fail (MM_EUSAGE, "special tokens and their roles are those of the tokenizer that is extended");
  if (o->pattern)
    return mm_fail (MM_EUSAGE, "the pattern is that of the tokenizer that is extended");
  if (o->vocab_size <= o->base->n_ids || o->vocab_size > MM_MAX_ID)
    return mm_fail (MM_EUSAGE, "a vocabulary of %u: the tokenizer that is extended has %u, want more and at most %d",
                    o->vocab_size, o->base->n_ids, MM_MAX_ID);
  return check_whole_pieces (o->base);
}

static mm_status
find_pattern (const char *name, enum mm_pattern *pattern)
{
  *pattern = MM_PATTERN_GPT2;
  if (!name)
    return MM_OK;
  for (unsigned i = 0; mm_bpe_patterns[i]; i++)
    if (strcmp (name, mm_bpe_patterns[i]) == 0)
      {
        *pattern = (enum mm_pattern) i;
        return MM_OK;
      }
  return mm_fail (MM_EUSAGE, "%s: no such pattern", name);
}

static mm_status
check_options (const struct mm_bpe_options *o)
{
  mm_status st = o->base ? check_base (o) : check_special (o);

  if (st == MM_OK && !o->base && (o->vocab_size < o->n_special + 256 || o->vocab_size > MM_MAX_ID))
    return mm_fail (MM_EUSAGE, "a vocabulary of %u: want at least %zu (256 bytes and %zu special "
                    "tokens) and at most %d", o->vocab_size, o->n_special + 256, o->n_special,
                    MM_MAX_ID);
  return st;
}

mm_status
mm_bpe_trainer_open (const struct mm_bpe_options *o, struct mm_bpe_trainer **out)
{
  enum mm_pattern pattern;
  struct mm_bpe_trainer *t;
  mm_status st = check_options (o);

  *out = NULL;
  if (st == MM_OK)
    st = find_pattern (o->pattern, &pattern);
  if (st < 0)
    return st;
  st = mm_alloc ("trainer", 1, sizeof *t, &t);
  if (st < 0)
    return st;
  t->o = *o;
  t->pattern = o->base ? o->base->pattern : pattern;
  st = copy_special (t, o);
  if (st == MM_OK && !(t->folder = strdup (o->temp_folder ? o->temp_folder : ".")))
    st = mm_fail (MM_ENOMEM, "trainer: out of memory");
  if (st == MM_OK)
    st = mm_counter_open (&(struct mm_counter_options) { o->n_threads, t->pattern, o->base, o->max_memory,
                                                         t->folder },
                          &t->counter);
  if (st < 0)
    mm_bpe_trainer_close (t);
  else
    *out = t;
  return st;
}

void
mm_bpe_trainer_close (struct mm_bpe_trainer *t)
{
  if (!t)
    return;
  mm_counter_close (t->counter);
  for (size_t i = 0; t->special && i < t->o.n_special; i++)
    free (t->special[i]);
  free (t->special);
  free (t->folder);
  free (t->uses);
  free (t);
}

/* ---- counting ---- */

size_t
mm_bpe_trainer_cut (const struct mm_bpe_trainer *t, const char *text, size_t size, size_t limit)
{
  return t ? mm_counter_cut (t->counter, text, size, limit) : mm_text_cut (MM_PATTERN_GPT2, text, size, limit);
}

mm_status
mm_bpe_trainer_add (struct mm_bpe_trainer *t, const char *text, size_t size)
{
  size_t valid;

  if (t->finished)
    return mm_fail (MM_EINVAL, "the trainer has finished");
  valid = t->o.checked ? size : mm_utf8_check (text, size, NULL);
  if (valid < size)
    return mm_fail (MM_EFORMAT, "invalid UTF-8 at byte %zu", valid);
  return mm_counter_add (t->counter, text, size);
}

void
mm_bpe_trainer_counts (const struct mm_bpe_trainer *t, uint64_t *pieces, uint64_t *distinct)
{
  uint64_t bytes;

  mm_counter_totals (t->counter, pieces, &bytes);
  *distinct = t->distinct;
}

const uint64_t *
mm_bpe_trainer_uses (const struct mm_bpe_trainer *t, uint64_t *bytes)
{
  uint64_t pieces;

  mm_counter_totals (t->counter, &pieces, bytes);
  return t->uses;
}

/* ---- learning ---- */

/* Bytes in the order of their characters in the table, as HF sorts its alphabet.  */
static mm_status
add_bytes (struct mm_learnt *l)
{
  mm_status st = MM_OK;

  for (uint32_t c = 0; st == MM_OK && c <= 0x143; c++)
    for (unsigned b = 0; b < 256; b++)
      if (mm_table_code_point ((unsigned char) b) == c)
        {
          char byte = (char) b;

          l->bytes[b] = mm_learnt_find (l, &byte, 1);
          if (l->bytes[b] == MM_BPE_NONE)
            {
              l->bytes[b] = (uint32_t) l->n_tokens;
              st = mm_learnt_add (l, &byte, 1);
            }
        }
  return st;
}

/* Special tokens come first.  One of ASCII without blanks is spelt like its bytes: a merge that
   makes the same text makes the same token, as for HF.  */
static mm_status
first_tokens (struct mm_learnt *l, const struct mm_bpe_options *o)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < o->n_special; i++)
    st = mm_learnt_add (l, o->special[i],
                        mm_is_table_text (o->special[i]) ? strlen (o->special[i]) : 0);
  return st < 0 ? st : add_bytes (l);
}

/* The tokens of the base, with their ids.  What the vocabulary spells like bytes no merge may make.  */
static mm_status
base_tokens (struct mm_learnt *l, const struct mm_tokenizer *t)
{
  bool *added;
  mm_status st = mm_alloc ("vocabulary", t->n_ids, sizeof *added, &added);

  l->base = t;
  memcpy (l->bytes, t->bpe.bytes, sizeof l->bytes);
  for (size_t i = 0; st == MM_OK && i < t->n_added; i++)
    added[t->added[i].id] = true;
  for (uint32_t id = 0; st == MM_OK && id < t->n_ids; id++)
    {
      const struct mm_trie_key *text = t->texts + id;
      bool is_text = text->value != MM_TRIE_NONE;

      for (size_t i = 0; is_text && added[id] && i < text->size; i++)
        is_text = (unsigned char) text->bytes[i] < 0x80;
      st = mm_learnt_add (l, text->bytes, is_text ? text->size : 0);
    }
  free (added);
  return st;
}

mm_status
mm_bpe_trainer_finish (struct mm_bpe_trainer *t, char **json, char **config, uint32_t *reached)
{
  struct mm_learnt learnt = { 0 };
  mm_status st;

  *json = *config = NULL;
  *reached = 0;
  if (t->finished)
    return mm_fail (MM_EINVAL, "the trainer has finished");
  t->finished = true;
  st = mm_counter_finish (t->counter);
  if (st == MM_OK)
    st = t->o.base ? base_tokens (&learnt, t->o.base) : first_tokens (&learnt, &t->o);
  if (st == MM_OK)
    st = mm_bpe_train (&learnt, t->counter, t->o.max_memory, t->o.vocab_size, &t->distinct);
  if (st == MM_OK)
    st = t->o.base ? mm_bpe_write_extended (&learnt, json, config)
                   : mm_bpe_write (&learnt, &t->o, t->pattern, json, config);
  if (st == MM_OK)
    *reached = (uint32_t) learnt.n_tokens;
  t->uses = learnt.uses;
  learnt.uses = NULL;
  mm_learnt_free (&learnt);
  return st;
}
