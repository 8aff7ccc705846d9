/* split.c -- splits by any pattern, through PCRE2.
   SPDX-License-Identifier: Apache-2.0

   Pieces are made one at a time: a step asks the step before for its next piece when it has cut the
   last one up, so that nothing grows with the text.  */

#include <config.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/memory.h>

#include "split.h"
#include "unicode.h"

enum
{
  JIT_STACK_FIRST = 32 << 10, JIT_STACK_LAST = 1 << 20,         /* bytes */
  POINTS = 0x110000
};

/* ---- what PCRE2 and HF know of Unicode ---- */

static void
mark (uint8_t *bits, uint32_t c)
{
  bits[c >> 3] |= (uint8_t) (1 << (c & 7));
}

/* All code points but surrogates as UTF-8 into OUT, 4 * POINTS bytes; returns the size.  */
static size_t
write_points (char *out)
{
  char *p = out;

  for (uint32_t c = 0; c < POINTS; c++)
    if (c < 0x80)
      *p++ = (char) c;
    else
      {
        int tail = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const unsigned char lead[] = { 0, 0xc0, 0xe0, 0xf0 };

        if (c >= 0xd800 && c <= 0xdfff)
          continue;
        *p++ = (char) (lead[tail] | c >> 6 * tail);
        while (tail-- > 0)
          *p++ = (char) (0x80 | (c >> 6 * tail & 0x3f));
      }
  return (size_t) (p - out);
}

/* Mark the code points of which only one of PCRE2 and HF knows that they are assigned.  */
static mm_status
compare_assigned (const pcre2_code *unassigned, const char *points, size_t size,
                  struct mm_split_unicode *u)
{
  pcre2_match_data *match = pcre2_match_data_create_from_pattern (unassigned, NULL);
  size_t at = 0;

  if (!match)
    return mm_fail (MM_ENOMEM, "pattern: out of memory");
  while (at < size)
    {
      bool found = pcre2_match (unassigned, (PCRE2_SPTR) points, size, at, PCRE2_NO_UTF_CHECK, match,
                                NULL) >= 0;
      const size_t *ends = pcre2_get_ovector_pointer (match);
      size_t start = found ? ends[0] : size, end = found ? ends[1] : size;
      unsigned length;

      for (; at < end; at += length)
        {
          uint32_t c = mm_utf8_get (points + at, &length);
          bool theirs = mm_unicode_more (c) & MM_ASSIGNED;

          if ((at < start) != theirs)
            mark (theirs ? u->theirs : u->ours, c);
        }
    }
  pcre2_match_data_free (match);
  return MM_OK;
}

static mm_status
compile (const char *name, const char *regex, pcre2_code **code)
{
  int error;
  size_t offset;
  char text[128];

  *code = pcre2_compile ((PCRE2_SPTR) regex, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error,
                         &offset, NULL);
  if (*code)
    {
      /* Without a compiler for this processor PCRE2 interprets.  */
      pcre2_jit_compile (*code, PCRE2_JIT_COMPLETE);
      return MM_OK;
    }
  if (error == PCRE2_ERROR_NOMEMORY)
    return mm_fail (MM_ENOMEM, "%s: pattern: out of memory", name);
  pcre2_get_error_message (error, (PCRE2_UCHAR *) text, sizeof text);
  return mm_fail (MM_EUNSUP, "%s: pre_tokenizer Split: PCRE2 does not take the pattern: %s", name,
                  text);
}

static mm_status
find_differences (struct mm_split *split, const char *name)
{
  pcre2_code *unassigned = NULL;
  char *points = NULL;
  mm_status st = compile (name, "\\p{Cn}+", &unassigned);

  if (st == MM_OK)
    st = mm_alloc ("pattern", POINTS, 4, &points);
  if (st == MM_OK)
    st = mm_alloc ("pattern", POINTS / 8, 1, &split->unicode.theirs);
  if (st == MM_OK)
    st = mm_alloc ("pattern", POINTS / 8, 1, &split->unicode.ours);
  if (st == MM_OK)
    st = compare_assigned (unassigned, points, write_points (points), &split->unicode);
  pcre2_code_free (unassigned);
  free (points);
  return st;
}

/* ---- steps ---- */

static mm_status
add_step (struct mm_split *split, const char *name, struct mm_split_step step)
{
  if (split->n_steps == MM_SPLIT_STEPS)
    {
      pcre2_code_free (step.code);
      return mm_fail (MM_EUNSUP, "%s: more than %d pre-tokenizers are not supported", name,
                      MM_SPLIT_STEPS);
    }
  split->steps[split->n_steps++] = step;
  return MM_OK;
}

/* The expression in PCRE2's words.  */
static mm_status
translate (struct mm_split *split, const char *name, const char *regex, char **out)
{
  bool properties, doubt;
  mm_status st = mm_split_regex (name, regex, NULL, out, &properties, &doubt);

  if (st < 0 || !properties)
    return st;
  free (*out);
  *out = NULL;
  if (!split->unicode.ours)
    st = find_differences (split, name);
  if (st == MM_OK)
    st = mm_split_regex (name, regex, &split->unicode, out, &properties, &doubt);
  split->doubt |= doubt;
  return st;
}

mm_status
mm_split_add (struct mm_split *split, const char *name, const char *pattern, bool literal,
              enum mm_split_behavior behavior, bool invert)
{
  pcre2_code *code = NULL;
  char *regex;
  uint32_t matches_empty = 0;
  mm_status st = literal ? mm_split_literal (name, pattern, &regex)
                         : translate (split, name, pattern, &regex);

  if (st == MM_OK)
    st = compile (name, regex, &code);
  if (st == MM_OK)
    pcre2_pattern_info (code, PCRE2_INFO_MATCHEMPTY, &matches_empty);
  if (matches_empty)
    st = mm_fail (MM_EUNSUP, "%s: pre_tokenizer Split: a pattern that matches the empty string is not "
                  "supported: %.200s", name, pattern);
  free (regex);
  if (st < 0)
    pcre2_code_free (code);
  return st < 0 ? st : add_step (split, name, (struct mm_split_step) { code, behavior, invert });
}

mm_status
mm_split_add_digits (struct mm_split *split, const char *name, bool individual)
{
  return add_step (split, name, (struct mm_split_step) {
    NULL, individual ? MM_SPLIT_ISOLATED : MM_SPLIT_CONTIGUOUS, false });
}

void
mm_split_free (struct mm_split *split)
{
  for (size_t i = 0; i < split->n_steps; i++)
    pcre2_code_free (split->steps[i].code);
  free (split->unicode.theirs);
  free (split->unicode.ours);
  *split = (struct mm_split) { 0 };
}

/* ---- matches and what is between them ---- */

struct part
{
  size_t start, end;            /* end 0: there is none */
  bool match;
};

/* One step at work on a piece of the step before.  */
struct level
{
  size_t start, end;            /* of the piece */
  size_t at;                    /* how far it was searched */
  struct part match;            /* found behind what was returned last */
  struct part ahead;            /* looked at, not yet taken */
};

struct mm_splitter
{
  const struct mm_split *split;
  const char *text;
  pcre2_match_data *match;
  pcre2_match_context *context;
  pcre2_jit_stack *stack;
  struct level levels[MM_SPLIT_STEPS];
  size_t depth;                 /* levels at work */
  struct part left;             /* a piece that did not touch the one before */
};

/* The first digit of LEVEL's piece from its AT on.  */
static struct part
find_digit (const struct level *level, const char *text)
{
  unsigned length;

  for (size_t i = level->at; i < level->end; i += length)
    if (mm_unicode_more (mm_utf8_get (text + i, &length)) & MM_DIGIT)
      return (struct part) { i, i + length, true };
  return (struct part) { 0 };
}

static mm_status
find_match (struct mm_splitter *s, const struct mm_split_step *step, const struct level *level,
            struct part *found)
{
  const size_t *ends;
  char text[128];
  int n;

  *found = (struct part) { 0 };
  if (!step->code)
    {
      *found = find_digit (level, s->text);
      return MM_OK;
    }
  n = pcre2_match (step->code, (PCRE2_SPTR) s->text + level->start, level->end - level->start,
                   level->at - level->start, PCRE2_NO_UTF_CHECK, s->match, s->context);
  if (n == PCRE2_ERROR_NOMATCH)
    return MM_OK;
  if (n < 0)
    {
      pcre2_get_error_message (n, (PCRE2_UCHAR *) text, sizeof text);
      return mm_fail (n == PCRE2_ERROR_NOMEMORY ? MM_ENOMEM : MM_EUNSUP, "the pre-tokenizer's pattern "
                      "gives up at byte %zu: PCRE2: %s", level->at, text);
    }
  ends = pcre2_get_ovector_pointer (s->match);
  *found = (struct part) { level->start + ends[0], level->start + ends[1], true };
  return MM_OK;
}

/* The next match of LEVEL's piece or the next stretch between matches, as its step calls them.  */
static mm_status
next_part (struct mm_splitter *s, const struct mm_split_step *step, struct level *level,
           struct part *part)
{
  mm_status st;

  *part = level->match;
  level->match = (struct part) { 0 };
  if (part->end == 0 && level->at < level->end)
    {
      st = find_match (s, step, level, part);
      if (st < 0)
        return st;
      if (part->end == 0)
        *part = (struct part) { level->at, level->end, false };
      else if (part->start > level->at)
        {
          level->match = *part;
          *part = (struct part) { level->at, part->start, false };
        }
      level->at = level->match.end ? level->match.end : part->end;
    }
  part->match ^= step->invert;
  return MM_OK;
}

/* Is B, which follows A, part of the same piece?  */
static bool
joins (enum mm_split_behavior behavior, struct part a, struct part b)
{
  switch (behavior)
    {
    case MM_SPLIT_CONTIGUOUS:
      return a.match == b.match;
    case MM_SPLIT_WITH_PREVIOUS:
      return !a.match && b.match;
    case MM_SPLIT_WITH_NEXT:
      return a.match && !b.match;
    default:
      return false;
    }
}

/* The next piece of LEVEL; its end is 0 if there is none.  */
static mm_status
next_piece (struct mm_splitter *s, const struct mm_split_step *step, struct level *level,
            struct part *piece)
{
  struct part next = level->ahead;
  mm_status st = MM_OK;

  level->ahead = (struct part) { 0 };
  do
    {
      *piece = next;
      next = (struct part) { 0 };
      if (piece->end == 0)
        st = next_part (s, step, level, piece);
    }
  while (st == MM_OK && piece->end && piece->match && step->behavior == MM_SPLIT_REMOVED);
  if (step->behavior == MM_SPLIT_ISOLATED || step->behavior == MM_SPLIT_REMOVED)
    return st;
  while (st == MM_OK && piece->end)
    {
      st = next_part (s, step, level, &next);
      if (st < 0 || next.end == 0 || !joins (step->behavior, *piece, next))
        break;
      piece->end = next.end;
      piece->match = next.match;
      /* A match is joined to one neighbour only.  */
      if (step->behavior == MM_SPLIT_WITH_NEXT)
        return st;
    }
  level->ahead = next;
  return st;
}

/* The next piece of the last step; its end is 0 when the text is done.  */
static mm_status
next_of_all (struct mm_splitter *s, struct part *piece)
{
  const struct mm_split *split = s->split;
  mm_status st;

  while (s->depth > 0)
    {
      st = next_piece (s, split->steps + s->depth - 1, s->levels + s->depth - 1, piece);
      if (st < 0)
        return st;
      if (piece->end == 0)
        s->depth--;
      else if (s->depth == split->n_steps)
        return MM_OK;
      else
        s->levels[s->depth++] = (struct level) { .start = piece->start, .end = piece->end,
                                                 .at = piece->start };
    }
  *piece = (struct part) { 0 };
  return MM_OK;
}

/* ---- the whole ---- */

mm_status
mm_splitter_open (const struct mm_split *split, struct mm_splitter **out)
{
  struct mm_splitter *s;
  mm_status st = mm_alloc ("splitter", 1, sizeof *s, &s);

  *out = NULL;
  if (st < 0)
    return st;
  s->split = split;
  s->match = pcre2_match_data_create (1, NULL);
  s->context = pcre2_match_context_create (NULL);
  s->stack = pcre2_jit_stack_create (JIT_STACK_FIRST, JIT_STACK_LAST, NULL);
  if (!s->match || !s->context)
    {
      mm_splitter_close (s);
      return mm_fail (MM_ENOMEM, "splitter: out of memory");
    }
  if (s->stack)
    pcre2_jit_stack_assign (s->context, NULL, s->stack);
  *out = s;
  return MM_OK;
}

void
mm_splitter_close (struct mm_splitter *s)
{
  if (!s)
    return;
  pcre2_match_data_free (s->match);
  pcre2_match_context_free (s->context);
  pcre2_jit_stack_free (s->stack);
  free (s);
}

mm_status
mm_splitter_begin (struct mm_splitter *s, const char *text, size_t size)
{
  const struct mm_split *split = s->split;
  const struct mm_split_unicode *u = &split->unicode;
  char version[32] = "";
  unsigned length;

  for (size_t i = 0; u->ours && i < size; i += length)
    {
      uint32_t c = mm_utf8_get (text + i, &length);

      if ((u->ours[c >> 3] | (split->doubt ? u->theirs[c >> 3] : 0)) >> (c & 7) & 1)
        {
          pcre2_config (PCRE2_CONFIG_UNICODE_VERSION, version);
          return mm_fail (MM_EUNSUP, "byte %zu: the tokenizer's pattern asks for properties of U+%04X, "
                          "of which Unicode %s of PCRE2 and that of HF tokenizers differ", i,
                          (unsigned) c, version);
        }
    }
  s->text = text;
  s->depth = size > 0;
  s->left = (struct part) { 0 };
  s->levels[0] = (struct level) { .end = size };
  return MM_OK;
}

mm_status
mm_splitter_next (struct mm_splitter *s, size_t *start, size_t *ends, size_t max, size_t *count)
{
  struct part piece = s->left;
  mm_status st = MM_OK;

  s->left = (struct part) { 0 };
  *count = 0;
  while (*count < max)
    {
      if (piece.end == 0)
        st = next_of_all (s, &piece);
      if (st < 0 || piece.end == 0)
        return st;
      if (*count == 0)
        *start = piece.start;
      else if (piece.start != ends[*count - 1])
        {
          s->left = piece;
          return MM_OK;
        }
      ends[(*count)++] = piece.end;
      piece.end = 0;
    }
  return MM_OK;
}
