/* ranks.c -- tiktoken's rank files and GPT-2's merges.txt, as vocabulary and merges.
   SPDX-License-Identifier: Apache-2.0

   In a rank file every token is a merge of whatever two tokens make it up, and its rank is that of
   the merge.  Which two is seldom open: by the time that a token's rank comes, all merges of lower
   ranks are done, and its bytes are left in the parts that those merges leave, wherever they stand.
   If two are left, that is the token's rule, and no other pair is ever met.  If more are left, the
   token is made only of parts that come later, so that each such pair is a rule, or not at all but
   by being a whole piece, which tiktoken asks for first (ignore_merges).  */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "byte_table.h"
#include "known.h"

enum { TOKEN_BYTES = 512, LAST_RANK = (1 << 22) - 1 };

#define NONE UINT32_MAX

struct token
{
  const char *bytes;
  uint32_t size, rank;
};

/* Members of a JSON object or array, as text.  */
struct items
{
  char *text;
  size_t size, capacity;
};

struct ranks
{
  const char *name;
  char *bytes;                  /* of all tokens */
  struct token *tokens;
  size_t n, capacity;
  uint32_t *slots;              /* by hash: places in TOKENS, or NONE */
  size_t mask;
  struct items vocab, merges;
};

static size_t
hash (const char *bytes, size_t size)
{
  uint64_t h = UINT64_C (0xcbf29ce484222325);

  for (size_t i = 0; i < size; i++)
    h = (h ^ (unsigned char) bytes[i]) * UINT64_C (0x100000001b3);
  return (size_t) (h ^ h >> 32);
}

/* The rank of a token, or NONE.  */
static uint32_t
rank_of (const struct ranks *r, const char *bytes, size_t size)
{
  size_t i = hash (bytes, size) & r->mask;

  for (; r->slots[i] != NONE; i = (i + 1) & r->mask)
    {
      const struct token *t = r->tokens + r->slots[i];

      if (t->size == size && memcmp (t->bytes, bytes, size) == 0)
        return t->rank;
    }
  return NONE;
}

/* ---- reading ---- */

static int
base64_digit (char c)
{
  return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26
         : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decode SIZE characters to OUT; returns the number of bytes, or 0 if it is no base64.  */
static size_t
decode_base64 (const char *text, size_t size, char *out)
{
  uint32_t bits = 0;
  size_t n = 0, padding = 0;

  if (size % 4 != 0)
    return 0;
  while (padding < 2 && padding < size && text[size - 1 - padding] == '=')
    padding++;
  for (size_t i = 0; i < size - padding; i++)
    {
      int digit = base64_digit (text[i]);

      if (digit < 0)
        return 0;
      bits = bits << 6 | (uint32_t) digit;
      if (i % 4 != 0)
        out[n++] = (char) (bits >> (6 - 2 * (i % 4)));
    }
  return n;
}

/* One line, of SIZE bytes: a token and its rank; *WHERE is where its bytes go.  */
static mm_status
read_line (struct ranks *r, const char *line, size_t size, size_t number, char **where)
{
  const char *space = memchr (line, ' ', size);
  size_t length = space ? (size_t) (space - line) : size, n = 0, digits;
  uint32_t rank = 0;
  mm_status st;

  if (space && length <= 4 * (TOKEN_BYTES / 3) + 4)
    n = decode_base64 (line, length, *where);
  digits = space ? size - length - 1 : 0;
  for (size_t i = 0; i < digits; i++)
    if (space[1 + i] >= '0' && space[1 + i] <= '9' && rank <= LAST_RANK)
      rank = 10 * rank + (uint32_t) (space[1 + i] - '0');
    else
      digits = 0;
  if (n == 0 || n > TOKEN_BYTES || digits == 0 || rank > LAST_RANK)
    return mm_fail (MM_EFORMAT, "%s: line %zu: want a token of 1 to %d bytes in base64, a blank, and its "
                    "rank, at most %d", r->name, number, TOKEN_BYTES, LAST_RANK);
  st = mm_grow ("ranks", &r->tokens, &r->capacity, r->n + 1, sizeof *r->tokens);
  if (st < 0)
    return st;
  r->tokens[r->n++] = (struct token) { *where, (uint32_t) n, rank };
  *where += n;
  return MM_OK;
}

static mm_status
read_lines (struct ranks *r, const char *text, size_t size)
{
  char *where;
  size_t number = 1;
  mm_status st = mm_alloc ("ranks", size + 4, 1, &r->bytes);

  where = r->bytes;
  for (size_t at = 0; st == MM_OK && at < size; number++)
    {
      const char *end = memchr (text + at, '\n', size - at);
      size_t length = end ? (size_t) (end - text) - at : size - at, next = at + length + 1;

      if (length > 0 && text[at + length - 1] == '\r')
        length--;
      if (length > 0)
        st = read_line (r, text + at, length, number, &where);
      at = next;
    }
  if (st == MM_OK && r->n == 0)
    st = mm_fail (MM_EFORMAT, "%s: no tokens", r->name);
  return st;
}

static int
by_rank (const void *a, const void *b)
{
  const struct token *x = a, *y = b;

  return (x->rank > y->rank) - (x->rank < y->rank);
}

static mm_status
index_tokens (struct ranks *r)
{
  mm_status st;

  qsort (r->tokens, r->n, sizeof *r->tokens, by_rank);
  for (r->mask = 15; r->mask < 2 * r->n; r->mask = 2 * r->mask + 1)
    ;
  st = mm_alloc ("ranks", r->mask + 1, sizeof *r->slots, &r->slots);
  if (st < 0)
    return st;
  memset (r->slots, 0xff, (r->mask + 1) * sizeof *r->slots);
  for (size_t i = 0; i < r->n; i++)
    {
      const struct token *t = r->tokens + i;
      size_t slot = hash (t->bytes, t->size) & r->mask;

      if (i > 0 && t->rank == t[-1].rank)
        return mm_fail (MM_EFORMAT, "%s: two tokens have rank %u", r->name, t->rank);
      if (rank_of (r, t->bytes, t->size) != NONE)
        return mm_fail (MM_EFORMAT, "%s: the token of rank %u stands twice", r->name, t->rank);
      while (r->slots[slot] != NONE)
        slot = (slot + 1) & r->mask;
      r->slots[slot] = (uint32_t) i;
    }
  return MM_OK;
}

/* ---- rules ---- */

/* Append BYTES as a JSON string of the byte table, which has no character to escape but these two.  The items have
   room for it.  */
static void
put_spelling (struct items *items, const char *bytes, size_t size)
{
  char spelt[2 * TOKEN_BYTES + 1], *out = items->text + items->size;

  mm_table_text (bytes, size, spelt);
  *out++ = '"';
  for (const char *p = spelt; *p; *out++ = *p++)
    if (*p == '"' || *p == '\\')
      *out++ = '\\';
  *out++ = '"';
  items->size = (size_t) (out - items->text);
}

static void
put_text (struct items *items, const char *text)
{
  size_t size = strlen (text);

  memcpy (items->text + items->size, text, size);
  items->size += size;
}

/* Room for one more item that spells SIZE bytes, and the comma before it.  */
static mm_status
begin_item (struct items *items, size_t size)
{
  mm_status st = mm_grow ("ranks", &items->text, &items->capacity, items->size + 2 * size + 32, 1);

  if (st == MM_OK && items->size > 0)
    put_text (items, ",");
  return st;
}

static mm_status
add_token (struct ranks *r, const struct token *t)
{
  char rank[16];
  mm_status st = begin_item (&r->vocab, t->size);

  if (st < 0)
    return st;
  put_spelling (&r->vocab, t->bytes, t->size);
  snprintf (rank, sizeof rank, ":%" PRIu32, t->rank);
  put_text (&r->vocab, rank);
  return MM_OK;
}

static mm_status
add_rule (struct ranks *r, const char *bytes, size_t split, size_t size)
{
  mm_status st = begin_item (&r->merges, size);

  if (st < 0)
    return st;
  put_text (&r->merges, "[");
  put_spelling (&r->merges, bytes, split);
  put_text (&r->merges, ",");
  put_spelling (&r->merges, bytes + split, size - split);
  put_text (&r->merges, "]");
  return MM_OK;
}

/* Merge the bytes of T by the ranks below its own; returns how many parts are left, and where the
   second starts in *SPLIT.  */
static size_t
merge_below (const struct ranks *r, const struct token *t, size_t *split)
{
  uint16_t starts[TOKEN_BYTES + 1];
  uint32_t ranks[TOKEN_BYTES];  /* of each part joined with the next */
  size_t n = t->size;

  for (size_t i = 0; i <= n; i++)
    starts[i] = (uint16_t) i;
  for (size_t i = 0; i + 1 < n; i++)
    ranks[i] = rank_of (r, t->bytes + i, 2);
  while (n > 2)
    {
      size_t best = 0;

      for (size_t i = 1; i + 1 < n; i++)
        if (ranks[i] < ranks[best])
          best = i;
      if (ranks[best] >= t->rank)
        break;
      memmove (starts + best + 1, starts + best + 2, (n - best - 1) * sizeof *starts);
      memmove (ranks + best, ranks + best + 1, (n - best - 2) * sizeof *ranks);
      n--;
      for (size_t i = best > 0 ? best - 1 : 0; i <= best && i + 1 < n; i++)
        ranks[i] = rank_of (r, t->bytes + starts[i], (size_t) (starts[i + 2] - starts[i]));
    }
  *split = starts[1];
  return n;
}

static mm_status
add_rules (struct ranks *r, const struct token *t)
{
  mm_status st = MM_OK;
  size_t split;

  if (merge_below (r, t, &split) == 2)
    {
      uint32_t left = rank_of (r, t->bytes, split);
      uint32_t right = rank_of (r, t->bytes + split, t->size - split);

      return left == NONE || right == NONE ? MM_OK : add_rule (r, t->bytes, split, t->size);
    }
  for (split = 1; st == MM_OK && split < t->size; split++)
    {
      uint32_t left = rank_of (r, t->bytes, split);
      uint32_t right = rank_of (r, t->bytes + split, t->size - split);

      if (left != NONE && right != NONE && (left > t->rank || right > t->rank))
        st = add_rule (r, t->bytes, split, t->size);
    }
  return st;
}

/* ---- the whole ---- */

/* Vocabulary and merges as text.  */
static mm_status
read_ranks (struct ranks *r, const char *text, size_t size)
{
  mm_status st = read_lines (r, text, size);

  if (st == MM_OK)
    st = index_tokens (r);
  for (size_t i = 0; st == MM_OK && i < r->n; i++)
    {
      st = add_token (r, r->tokens + i);
      if (st == MM_OK && r->tokens[i].size > 1)
        st = add_rules (r, r->tokens + i);
    }
  return st;
}

/* The id of the token called NAME, or -1: names of special tokens are spelt as they are.  */
static int64_t
find_token (const void *arg, const char *name)
{
  uint32_t rank = rank_of (arg, name, strlen (name));

  return rank == NONE ? -1 : (int64_t) rank;
}

/* Put the items into FRAME, the text of a tokenizer.json that ends with a vocabulary of special tokens alone and an
   empty list of merges.  */
static mm_status
fill_frame (const struct ranks *r, const char *frame, char **json)
{
  static const char vocab[] = "\"vocab\":{", merges[] = "]}}";
  const char *specials = NULL, *end = frame + strlen (frame) - strlen (merges);
  char *out;
  mm_status st = mm_alloc (r->name, strlen (frame) + r->vocab.size + r->merges.size + 2, 1, json);

  if (st < 0)
    return st;
  /* The last one: the word may stand in the pattern or a special token.  */
  for (const char *p = frame; (p = strstr (p, vocab)); p = specials)
    specials = p + strlen (vocab);
  out = mempcpy (*json, frame, (size_t) (specials - frame));
  out = mempcpy (out, r->vocab.text, r->vocab.size);
  if (*specials != '}')
    *out++ = ',';
  out = mempcpy (out, specials, (size_t) (end - specials));
  if (r->merges.size > 0)
    out = mempcpy (out, r->merges.text, r->merges.size);
  strcpy (out, end);
  return MM_OK;
}

mm_status
mm_bpe_ranks_text (const struct mm_known *k, const char *name, const char *text, size_t size, char **json,
                   char **config)
{
  struct ranks r = { .name = name };
  char *frame = NULL;
  mm_status st = read_ranks (&r, text, size);

  *json = *config = NULL;
  if (st == MM_OK)
    st = mm_known_write (k, name, NULL, NULL, true, find_token, &r, &frame, config);
  if (st == MM_OK)
    st = fill_frame (&r, frame, json);
  if (st < 0)
    {
      free (*config);
      *config = NULL;
    }
  free (frame);
  free (r.vocab.text);
  free (r.merges.text);
  free (r.bytes);
  free (r.tokens);
  free (r.slots);
  return st;
}

/* ---- merges.txt ---- */

mm_status
mm_bpe_merges_read (const char *name, const char *text, size_t size, json_t **merges)
{
  json_t *list = json_array ();
  mm_status st = list ? MM_OK : mm_fail (MM_ENOMEM, "%s: out of memory", name);
  size_t number = 1;

  for (size_t at = 0; st == MM_OK && at < size; number++)
    {
      const char *end = memchr (text + at, '\n', size - at);
      size_t length = end ? (size_t) (end - text) - at : size - at;
      const char *line = text + at, *space;

      at += length + 1;
      if (length > 0 && line[length - 1] == '\r')
        length--;
      if (length == 0 || (length >= 8 && memcmp (line, "#version", 8) == 0))
        continue;
      space = memchr (line, ' ', length);
      if (!space || space == line || space + 1 == line + length
          || memchr (space + 1, ' ', (size_t) (line + length - space - 1)))
        st = mm_fail (MM_EFORMAT, "%s: line %zu: want two parts with a space between", name, number);
      else if (json_array_append_new (list, json_pack ("[s%, s%]", line, (size_t) (space - line), space + 1,
                                                       (size_t) (line + length - space - 1))) < 0)
        st = mm_fail (MM_EFORMAT, "%s: line %zu: not UTF-8, or out of memory", name, number);
    }
  if (st < 0)
    json_decref (list);
  *merges = st < 0 ? NULL : list;
  return st;
}
