/* load_pre_tokenizer.c -- the pre-tokenizer of a tokenizer.json: a pattern built in, or splits.
   SPDX-License-Identifier: Apache-2.0

   What is supported ends in ByteLevel; before it may stand Split and Digits, in any number.  */

#include <config.h>

#include <string.h>

#include <minimind/json.h>

#include "tokenizer_impl.h"

/* One step of the sequence, flattened.  */
struct step
{
  const json_t *json;
  const char *regex, *literal;  /* one of them for Split, none for Digits */
  enum mm_split_behavior behavior;
  bool invert, individual;
};

struct steps
{
  const char *name;
  struct step list[MM_SPLIT_STEPS];
  size_t n;
  bool bytes;                   /* ByteLevel was seen: nothing may follow */
};

static mm_status
read_byte_level (struct steps *s, const json_t *json, bool *splits)
{
  bool prefix = false;
  mm_status st = mm_json_bool (s->name, json, "add_prefix_space", false, &prefix);

  *splits = true;
  if (st == MM_OK)
    st = mm_json_bool (s->name, json, "use_regex", false, splits);
  if (st == MM_OK && prefix)
    st = mm_load_refuse (s->name, "pre_tokenizer", json,
                         "add_prefix_space puts a space before the text");
  s->bytes = true;
  return st;
}

static mm_status
read_behavior (struct steps *s, const json_t *json, enum mm_split_behavior *behavior)
{
  static const char *const names[] = {
    [MM_SPLIT_ISOLATED] = "Isolated", [MM_SPLIT_REMOVED] = "Removed",
    [MM_SPLIT_WITH_PREVIOUS] = "MergedWithPrevious", [MM_SPLIT_WITH_NEXT] = "MergedWithNext",
    [MM_SPLIT_CONTIGUOUS] = "Contiguous"
  };
  const char *found = "";
  mm_status st = mm_json_string (s->name, json, "behavior", true, &found);

  for (size_t i = 0; st == MM_OK && i < sizeof names / sizeof *names; i++)
    if (strcmp (found, names[i]) == 0)
      {
        *behavior = (enum mm_split_behavior) i;
        return MM_OK;
      }
  return st < 0 ? st : mm_fail (MM_EFORMAT, "%s: pre_tokenizer Split: behavior %s is none that is known",
                                s->name, found);
}

static mm_status
read_split (struct steps *s, const json_t *json, struct step *step)
{
  const json_t *pattern = json_object_get (json, "pattern");
  mm_status st = read_behavior (s, json, &step->behavior);

  if (st == MM_OK)
    st = mm_json_bool (s->name, json, "invert", false, &step->invert);
  step->regex = json_string_value (json_object_get (pattern, "Regex"));
  step->literal = json_string_value (json_object_get (pattern, "String"));
  if (st == MM_OK && (!step->regex == !step->literal || (step->literal && !*step->literal)))
    st = mm_fail (MM_EFORMAT, "%s: pre_tokenizer Split: want a pattern, a Regex or a String", s->name);
  return st;
}

/* Append one step that is no sequence.  */
static mm_status
read_step (struct steps *s, const json_t *json)
{
  const char *type = mm_load_type (json);
  struct step step = { .json = json, .individual = true };
  bool splits = true;
  mm_status st;

  if (s->bytes)
    return mm_load_refuse (s->name, "pre_tokenizer", json,
                           "it stands behind ByteLevel, where characters stand for bytes");
  if (strcmp (type, "ByteLevel") == 0)
    {
      st = read_byte_level (s, json, &splits);
      step.regex = mm_pattern_regex (MM_PATTERN_GPT2);
    }
  else if (strcmp (type, "Split") == 0)
    st = read_split (s, json, &step);
  else if (strcmp (type, "Digits") == 0)
    st = mm_json_bool (s->name, json, "individual_digits", true, &step.individual);
  else
    return mm_load_refuse (s->name, "pre_tokenizer", json, "only Split and Digits, then ByteLevel are");
  if (st < 0 || !splits)
    return st;
  if (s->n == MM_SPLIT_STEPS)
    return mm_load_refuse (s->name, "pre_tokenizer", json, "there are too many");
  s->list[s->n++] = step;
  return MM_OK;
}

/* All steps, those of sequences within sequences too; DEPTH is bounded by the JSON reader.  */
static mm_status
read_steps (struct steps *s, const json_t *json)
{
  const json_t *list = json_object_get (json, "pretokenizers"), *one;
  mm_status st = MM_OK;
  size_t i;

  if (strcmp (mm_load_type (json), "Sequence") != 0)
    return read_step (s, json);
  if (!json_is_array (list))
    return mm_fail (MM_EFORMAT, "%s: pre_tokenizer Sequence: want a list of pretokenizers", s->name);
  json_array_foreach (list, i, one)
    if ((st = read_steps (s, one)) < 0)
      break;
  return st;
}

/* Is it a pattern built in?  Those leave nothing between their matches but DeepSeek-V3's, so that
   it is the same to isolate matches as to remove what is between them.  */
static bool
find_built_in (const struct steps *s, enum mm_pattern *pattern)
{
  const char *regexes[MM_SPLIT_STEPS];

  for (size_t i = 0; i < s->n; i++)
    {
      const struct step *step = s->list + i;
      bool kept = step->behavior == MM_SPLIT_ISOLATED
                  || (step->behavior == MM_SPLIT_REMOVED && step->invert && s->n == 1);

      if (!step->regex || !kept)
        return false;
      regexes[i] = step->regex;
    }
  return mm_pattern_find (regexes, s->n, pattern);
}

static mm_status
add_steps (const struct steps *s, struct mm_split *split)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < s->n; i++)
    {
      const struct step *step = s->list + i;

      if (step->regex || step->literal)
        st = mm_split_add (split, s->name, step->regex ? step->regex : step->literal, step->literal,
                           step->behavior, step->invert);
      else
        st = mm_split_add_digits (split, s->name, step->individual);
    }
  return st;
}

mm_status
mm_load_pre_tokenizer (const char *name, const json_t *json, struct mm_tokenizer *t)
{
  struct steps s = { .name = name };
  mm_status st;

  if (!json || json_is_null (json))
    return mm_fail (MM_EUNSUP, "%s: no pre_tokenizer: only byte-level BPE, which has one, is "
                    "supported", name);
  st = read_steps (&s, json);
  if (st < 0)
    return st;
  if (!s.bytes)
    return mm_load_refuse (name, "pre_tokenizer", json, "it has no ByteLevel: only byte-level BPE is");
  if (s.n == 0)
    return mm_load_refuse (name, "pre_tokenizer", json, "nothing splits the text (use_regex is false)");
  if (find_built_in (&s, &t->pattern))
    return MM_OK;
  t->pattern = MM_PATTERN_GENERAL;
  return add_steps (&s, &t->split);
}
