/* vocabulary.c -- vocabulary and merges from the text of a tokenizer.json (vocabulary.h).
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>
#include <minimind/memory.h>
#include <minimind/tokenizer.h>

#include "bpe.h"
#include "json_line.h"
#include "json_string.h"
#include "piece_key.h"
#include "vocabulary.h"

struct reader
{
  const char *name;
  const char *text;             /* of the whole document */
  size_t size;
  const char *p, *end;          /* of the value that is read */
  char *unescaped;              /* where the next text with escapes goes, or NULL */
};

/* The value is none that was foreseen: let Jansson say what is wrong with the document, if it is no JSON.  */
static mm_status
check_document (const struct reader *r)
{
  json_t *root;
  mm_status st = mm_json_parse (r->name, r->text, r->size, &root);

  json_decref (root);
  return st;
}

static mm_status
irregular (const struct reader *r)
{
  mm_status st = check_document (r);

  return st < 0 ? st : mm_fail (MM_EFORMAT, "%s: the model cannot be read", r->name);
}

static void
skip_space (struct reader *r)
{
  r->p = mm_json_skip_space (r->p, r->end);
}

/* Pass by the character C and white space before it, if it is next.  */
static bool
take (struct reader *r, char c)
{
  skip_space (r);
  if (r->p == r->end || *r->p != c)
    return false;
  r->p++;
  return true;
}

/* ---- the document without the two ---- */

struct member
{
  struct mm_json_span key;
  const char *value;
  size_t size;
};

/* The next member of the object that R goes through, its first brace taken; false at the end and where anything is
   unusual.  */
static bool
next_member (struct reader *r, bool *first, struct member *m)
{
  struct mm_json_extent extent = { 0 };

  if (!*first && !take (r, ','))
    return false;
  *first = false;
  skip_space (r);
  if (mm_json_string_scan (&r->p, r->end, &m->key) || !take (r, ':'))
    return false;
  skip_space (r);
  m->value = r->p;
  if (!mm_json_extent_find (&extent, r->p, (size_t) (r->end - r->p)))
    return false;
  m->size = extent.at;
  r->p += extent.at;
  return true;
}

static bool
is_called (const struct member *m, const char *name)
{
  char key[6 * 8 + MM_JSON_ROOM];       /* eight characters as escapes */
  uint64_t lone = 0;
  size_t size;

  if (m->key.end - m->key.start > 6 * 8)
    return false;
  size = (size_t) (mm_json_string_get (&m->key, key, &lone) - key);
  return size == strlen (name) && memcmp (key, name, size) == 0;
}

/* Find the two in the document.  */
static void
find_members (struct reader *r, struct mm_tokenizer_json *json)
{
  struct member model = { .value = NULL }, m;
  bool first = true;

  if (!take (r, '{'))
    return;
  while (!model.value && next_member (r, &first, &m))
    if (is_called (&m, "model"))
      model = m;
  if (!model.value || *model.value != '{')
    return;
  r->p = model.value + 1;
  r->end = model.value + model.size;
  for (first = true; next_member (r, &first, &m);)
    if (is_called (&m, "vocab") && *m.value == '{' && !json->vocab)
      {
        json->vocab = m.value;
        json->vocab_size = m.size;
      }
    else if (is_called (&m, "merges") && *m.value == '[' && !json->merges)
      {
        json->merges = m.value;
        json->merges_size = m.size;
      }
}

/* The document with "{}" and "[]" in place of the two; the caller frees it.  */
static mm_status
write_rest (const struct reader *r, const struct mm_tokenizer_json *json, char **rest, size_t *rest_size)
{
  bool vocab_first = json->vocab < json->merges;
  const char *a = vocab_first ? json->vocab : json->merges, *b = vocab_first ? json->merges : json->vocab;
  size_t a_size = vocab_first ? json->vocab_size : json->merges_size;
  size_t b_size = vocab_first ? json->merges_size : json->vocab_size;
  char *out;
  mm_status st = mm_alloc (r->name, r->size - a_size - b_size + 4, 1, rest);

  if (st < 0)
    return st;
  out = mempcpy (*rest, r->text, (size_t) (a - r->text));
  out = mempcpy (out, vocab_first ? "{}" : "[]", 2);
  out = mempcpy (out, a + a_size, (size_t) (b - (a + a_size)));
  out = mempcpy (out, vocab_first ? "[]" : "{}", 2);
  out = mempcpy (out, b + b_size, (size_t) (r->text + r->size - (b + b_size)));
  *rest_size = (size_t) (out - *rest);
  return MM_OK;
}

mm_status
mm_tokenizer_json_parse (const char *name, const char *text, size_t size, struct mm_tokenizer_json *json)
{
  struct reader r = { .name = name, .text = text, .size = size, .p = text, .end = text + size };
  char *rest = NULL;
  size_t rest_size;
  mm_status st;

  *json = (struct mm_tokenizer_json) { .root = NULL };
  find_members (&r, json);
  if (!json->vocab || !json->merges)
    {
      json->vocab = json->merges = NULL;
      return mm_json_parse (name, text, size, &json->root);
    }
  st = write_rest (&r, json, &rest, &rest_size);
  if (st == MM_OK && mm_json_parse (name, rest, rest_size, &json->root) < 0)
    st = irregular (&r);
  free (rest);
  return st;
}

/* ---- strings and numbers ---- */

/* The next string into *TEXT and *SIZE; false where Jansson would refuse it.  */
static bool
read_string (struct reader *r, const char **text, size_t *size)
{
  struct mm_json_span span;
  uint64_t lone = 0;
  char *end;

  skip_space (r);
  if (mm_json_string_scan (&r->p, r->end, &span))
    return false;
  *text = span.start;
  *size = (size_t) (span.end - span.start);
  if (!span.escapes)
    return true;
  end = mm_json_string_get (&span, r->unescaped, &lone);
  *text = r->unescaped;
  *size = (size_t) (end - r->unescaped);
  r->unescaped = end;
  return lone == 0 && !memchr (*text, '\0', *size);
}

/* Room for all texts of the value that R reads, if any has escapes, and for what is written behind one.  */
static mm_status
open_unescaped (struct reader *r, char **unescaped)
{
  size_t size = (size_t) (r->end - r->p);
  mm_status st = MM_OK;

  *unescaped = NULL;
  if (mm_utf8_check (r->p, size, NULL) < size)
    return irregular (r);
  if (memchr (r->p, '\\', size))
    st = mm_alloc (r->name, size + MM_JSON_ROOM, 1, unescaped);
  r->unescaped = *unescaped;
  return st;
}

/* The next number, an id; false if it is none.  */
static bool
read_id (struct reader *r, uint32_t *id)
{
  const char *start;
  uint32_t value = 0;

  skip_space (r);
  for (start = r->p; r->p < r->end && *r->p >= '0' && *r->p <= '9' && value <= MM_MAX_ID; r->p++)
    value = 10 * value + (uint32_t) (*r->p - '0');
  *id = value;
  if (r->p == start || (*start == '0' && r->p - start > 1) || value > MM_MAX_ID)
    return false;
  skip_space (r);
  return r->p < r->end && (*r->p == ',' || *r->p == '}');
}

/* ---- the vocabulary ---- */

/* 32 bits: the best are the lowest.  */
static uint32_t
hash (const char *text, size_t size)
{
  uint32_t head = 0, tail = 0;
  uint64_t h;

  if (size >= 8)
    return (uint32_t) (mm_text_hash (text, size) >> 32);
  if (size >= 4)
    {
      memcpy (&head, text, 4);
      memcpy (&tail, text + size - 4, 4);
    }
  else if (size > 0)
    head = (unsigned char) text[0] | (uint32_t) (unsigned char) text[size / 2] << 8
           | (uint32_t) (unsigned char) text[size - 1] << 16;
  h = (head | (uint64_t) tail << 32) ^ (uint64_t) size << 29;
  return (uint32_t) (h * UINT64_C (0x9e3779b97f4a7c15) >> 32);
}

/* The slot of the token spelt as TEXT, or the free one where it would be.  */
static uint64_t *
find_slot (const struct mm_vocabulary *v, const char *text, size_t size, uint32_t h)
{
  for (size_t i = h & v->mask;; i = (i + 1) & v->mask)
    {
      uint64_t *slot = v->slots + i;

      if (*slot == 0)
        return slot;
      if (*slot >> 32 == h)
        {
          const struct mm_spelling *t = v->tokens + ((*slot & UINT32_MAX) - 1);

          if (t->size == size && memcmp (t->text, text, size) == 0)
            return slot;
        }
    }
}

size_t
mm_vocabulary_find (const struct mm_vocabulary *v, const char *text, size_t size)
{
  uint64_t slot = v->slots ? *find_slot (v, text, size, hash (text, size)) : 0;

  return (size_t) (slot & UINT32_MAX) - 1;
}

/* Index all tokens; *TWICE: one stands there twice.  */
static mm_status
index_tokens (struct mm_vocabulary *v, bool *twice)
{
  mm_status st;

  *twice = false;
  for (v->mask = 15; v->mask < 2 * v->n; v->mask = 2 * v->mask + 1)
    ;
  st = mm_alloc ("vocabulary", v->mask + 1, sizeof *v->slots, &v->slots);
  for (size_t i = 0; st == MM_OK && i < v->n; i++)
    {
      const struct mm_spelling *t = v->tokens + i;
      uint32_t h = hash (t->text, t->size);
      uint64_t *slot = find_slot (v, t->text, t->size, h);

      *twice |= *slot != 0;
      *slot = (uint64_t) h << 32 | (i + 1);
    }
  return st;
}

/* Bytes of a text of SIZE that a message holds.  */
static int
shown (size_t size)
{
  return size < 200 ? (int) size : 200;
}

static mm_status
read_token (struct reader *r, struct mm_vocabulary *v)
{
  const char *text;
  size_t size;
  uint32_t id;
  mm_status st;

  if (!read_string (r, &text, &size) || size > UINT32_MAX || v->n == UINT32_MAX || !take (r, ':'))
    return irregular (r);
  if (!read_id (r, &id))
    {
      st = check_document (r);
      return st < 0 ? st : mm_fail (MM_EFORMAT, "%s: vocab: token %.*s: want an id from 0 to %d", r->name,
                                    shown (size), text, MM_MAX_ID);
    }
  st = mm_grow ("vocabulary", &v->tokens, &v->capacity, v->n + 1, sizeof *v->tokens);
  if (st == MM_OK)
    v->tokens[v->n++] = (struct mm_spelling) { text, (uint32_t) size, id, false };
  return st;
}

mm_status
mm_vocabulary_read (const char *name, const char *text, size_t size, const struct mm_tokenizer_json *json,
                    struct mm_vocabulary *v)
{
  struct reader r = { .name = name, .text = text, .size = size, .p = json->vocab,
                      .end = json->vocab + json->vocab_size };
  bool twice = false;
  mm_status st;

  *v = (struct mm_vocabulary) { .n = 0 };
  st = open_unescaped (&r, &v->unescaped);
  if (st < 0)
    return st;
  r.p++;
  if (!take (&r, '}'))
    do
      st = read_token (&r, v);
    while (st == MM_OK && take (&r, ','));
  if (st == MM_OK && v->n > 0 && !take (&r, '}'))
    return irregular (&r);
  if (st == MM_OK)
    st = index_tokens (v, &twice);
  return twice ? irregular (&r) : st;
}

void
mm_vocabulary_free (struct mm_vocabulary *v)
{
  free (v->tokens);
  free (v->slots);
  free (v->unescaped);
  *v = (struct mm_vocabulary) { .n = 0 };
}

/* ---- merges ---- */

struct merge
{
  const char *left, *right;
  size_t left_size, right_size;
  bool comment;                 /* a line of version, as merges.txt begins with */
};

/* The next merge, which has NUMBER in messages.  */
static mm_status
read_merge (struct reader *r, size_t number, struct merge *m)
{
  const char *space;
  size_t size;
  mm_status st;

  skip_space (r);
  m->comment = false;
  if (r->p < r->end && *r->p == '"')
    {
      if (!read_string (r, &m->left, &size))
        return irregular (r);
      m->comment = size >= 8 && memcmp (m->left, "#version", 8) == 0;
      space = memchr (m->left, ' ', size);
      if (m->comment)
        return MM_OK;
      if (!space || memchr (space + 1, ' ', (size_t) (m->left + size - (space + 1))))
        return mm_fail (MM_EFORMAT, "%s: merges: number %zu: want two parts with a space between", r->name, number);
      m->left_size = (size_t) (space - m->left);
      m->right = space + 1;
      m->right_size = size - m->left_size - 1;
      return MM_OK;
    }
  if (take (r, '[') && read_string (r, &m->left, &m->left_size) && take (r, ',')
      && read_string (r, &m->right, &m->right_size) && take (r, ']'))
    return MM_OK;
  st = check_document (r);
  return st < 0 ? st : mm_fail (MM_EFORMAT, "%s: merges: number %zu: want a pair of strings", r->name, number);
}

static bool
is_joined (const struct mm_spelling *t, const struct merge *m)
{
  return t->size == m->left_size + m->right_size && memcmp (t->text, m->left, m->left_size) == 0
         && memcmp (t->text + m->left_size, m->right, m->right_size) == 0;
}

static mm_status
missing (const struct reader *r, size_t number, const char *text, size_t size)
{
  return mm_fail (MM_EFORMAT, "%s: merges: number %zu: token %.*s is not in the vocabulary", r->name, number,
                  shown (size), text);
}

/* The token of two joined parts.  */
struct joined
{
  size_t place;                 /* of the last one */
  char *buffer;                 /* grown as needed */
  size_t capacity;
};

static mm_status
find_joined (const struct reader *r, const struct mm_vocabulary *v, size_t number, const struct merge *m,
             struct joined *j)
{
  size_t size = m->left_size + m->right_size;
  mm_status st;

  /* Nearly always the one behind that of the merge before.  */
  if (++j->place < v->n && is_joined (v->tokens + j->place, m))
    return MM_OK;
  st = mm_grow ("merges", &j->buffer, &j->capacity, size + 1, 1);
  if (st < 0)
    return st;
  memcpy (mempcpy (j->buffer, m->left, m->left_size), m->right, m->right_size);
  j->place = mm_vocabulary_find (v, j->buffer, size);
  return j->place == SIZE_MAX ? missing (r, number, j->buffer, size) : MM_OK;
}

static mm_status
find_rule (const struct reader *r, const struct mm_vocabulary *v, size_t number, const struct merge *m,
           struct joined *j, struct mm_bpe_rule *rule)
{
  size_t left = mm_vocabulary_find (v, m->left, m->left_size);
  size_t right = mm_vocabulary_find (v, m->right, m->right_size);
  mm_status st;

  if (left == SIZE_MAX)
    return missing (r, number, m->left, m->left_size);
  if (right == SIZE_MAX)
    return missing (r, number, m->right, m->right_size);
  st = find_joined (r, v, number, m, j);
  if (st == MM_OK)
    *rule = (struct mm_bpe_rule) { v->tokens[left].id, v->tokens[right].id, v->tokens[j->place].id };
  return st;
}

mm_status
mm_vocabulary_merges (const char *name, const char *text, size_t size, const struct mm_tokenizer_json *json,
                      const struct mm_vocabulary *v, struct mm_bpe_rule **rules, size_t *n_rules)
{
  struct reader r = { .name = name, .text = text, .size = size, .p = json->merges,
                      .end = json->merges + json->merges_size };
  struct joined joined = { .place = SIZE_MAX };
  struct mm_bpe_rule rule;
  size_t capacity = 0, number = 0;
  char *unescaped;
  struct merge m;
  mm_status st;

  *rules = NULL;
  *n_rules = 0;
  st = open_unescaped (&r, &unescaped);
  r.p++;
  if (st == MM_OK && !take (&r, ']'))
    {
      do
        {
          st = read_merge (&r, number++, &m);
          if (st < 0 || m.comment)
            continue;
          st = find_rule (&r, v, number - 1, &m, &joined, &rule);
          if (st == MM_OK)
            st = mm_grow ("merges", rules, &capacity, *n_rules + 1, sizeof **rules);
          if (st == MM_OK)
            (*rules)[(*n_rules)++] = rule;
        }
      while (st == MM_OK && take (&r, ','));
      if (st == MM_OK && !take (&r, ']'))
        st = irregular (&r);
    }
  free (joined.buffer);
  free (unescaped);
  return st;
}
