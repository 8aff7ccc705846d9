/* load_pipeline.c -- what a tokenizer.json does before and after its model.
   SPDX-License-Identifier: Apache-2.0

   Each step either does nothing to ids, or is one that lib/text knows, or is refused by name:
   a step left out in silence would give other ids than HF.  */

#include <config.h>

#include <string.h>

#include <minimind/json.h>

#include "tokenizer_impl.h"

/* The "type" of a step, "" if it has none.  */
static const char *
type_of (const json_t *step)
{
  const char *type = json_string_value (json_object_get (step, "type"));

  return type ? type : "";
}

static mm_status
refuse (const char *name, const char *what, const json_t *step, const char *why)
{
  const char *type = type_of (step);

  return mm_fail (MM_EUNSUP, "%s: %s%s%s is not supported: %s", name, what, *type ? " " : "", type,
                  why);
}

static bool
is_absent (const json_t *step)
{
  return !step || json_is_null (step);
}

/* ByteLevel as a pre-tokenizer; *SPLITS tells whether it splits too.  */
static mm_status
read_byte_level (const char *name, const json_t *step, bool *splits)
{
  bool prefix = false;
  mm_status st = mm_json_bool (name, step, "add_prefix_space", false, &prefix);

  *splits = true;
  if (st == MM_OK)
    st = mm_json_bool (name, step, "use_regex", false, splits);
  if (st == MM_OK && prefix)
    st = refuse (name, "pre_tokenizer", step, "add_prefix_space puts a space before the text");
  return st;
}

/* A Split that keeps everything, by a pattern known here.  */
static mm_status
read_split (const char *name, const json_t *step, enum mm_pattern *pattern)
{
  const json_t *written = json_object_get (step, "pattern");
  const char *regex = json_string_value (json_object_get (written, "Regex"));
  const char *behavior = "";
  bool invert = false;
  mm_status st = mm_json_string (name, step, "behavior", true, &behavior);

  if (st == MM_OK)
    st = mm_json_bool (name, step, "invert", false, &invert);
  if (st < 0)
    return st;
  if (strcmp (behavior, "Isolated") != 0 || invert)
    return refuse (name, "pre_tokenizer", step, "only behavior Isolated without invert is");
  if (!regex || !mm_pattern_find (&regex, 1, pattern))
    return refuse (name, "pre_tokenizer", step,
                   "its pattern is none of GPT-2's, Qwen2's, Llama-3's");
  return MM_OK;
}

/* ByteLevel with its own pattern, or Split and then ByteLevel without.  */
static mm_status
read_pre_tokenizer (const char *name, const json_t *step, struct mm_tokenizer *t)
{
  const json_t *steps = json_object_get (step, "pretokenizers"), *split = NULL, *bytes = step;
  bool splits;
  mm_status st;

  if (is_absent (step))
    return mm_fail (MM_EUNSUP, "%s: no pre_tokenizer: only byte-level BPE, which has one, is "
                    "supported", name);
  if (strcmp (type_of (step), "Sequence") == 0)
    {
      split = json_array_get (steps, 0);
      bytes = json_array_get (steps, json_array_size (steps) - 1);
      if (json_array_size (steps) == 1)
        split = NULL;
      else if (json_array_size (steps) != 2 || strcmp (type_of (split), "Split") != 0)
        return refuse (name, "pre_tokenizer", step, "want Split, then ByteLevel");
    }
  if (strcmp (type_of (bytes), "ByteLevel") != 0)
    return refuse (name, "pre_tokenizer", bytes, "only byte-level BPE is");
  st = read_byte_level (name, bytes, &splits);
  if (st < 0)
    return st;
  if (split)
    return splits ? refuse (name, "pre_tokenizer", step, "ByteLevel splits once more (use_regex)")
                  : read_split (name, split, &t->pattern);
  if (!splits)
    return refuse (name, "pre_tokenizer", bytes, "nothing splits the text (use_regex is false)");
  t->pattern = MM_PATTERN_GPT2;
  return MM_OK;
}

/* A template adds tokens unless it is just the sequence.  */
static bool
is_plain_template (const json_t *step)
{
  const json_t *single = json_object_get (step, "single");

  return json_array_size (single) == 1 && json_object_get (json_array_get (single, 0), "Sequence");
}

static mm_status
check_post_processor (const char *name, const json_t *step)
{
  const json_t *steps = json_object_get (step, "processors"), *one;
  size_t i;

  if (is_absent (step) || strcmp (type_of (step), "ByteLevel") == 0)
    return MM_OK;
  if (strcmp (type_of (step), "TemplateProcessing") == 0 && is_plain_template (step))
    return MM_OK;
  if (strcmp (type_of (step), "Sequence") != 0)
    return refuse (name, "post_processor", step, "it adds tokens to every text");
  json_array_foreach (steps, i, one)
    if (strcmp (type_of (one), "ByteLevel") != 0
        && !(strcmp (type_of (one), "TemplateProcessing") == 0 && is_plain_template (one)))
      return refuse (name, "post_processor", one, "it adds tokens to every text");
  return MM_OK;
}

mm_status
mm_load_pipeline (const char *name, const json_t *root, struct mm_tokenizer *t)
{
  const char *version = "";
  const json_t *step;
  mm_status st = mm_json_string (name, root, "version", true, &version);

  if (st < 0)
    return st;
  if (strcmp (version, "1.0") != 0)
    return mm_fail (MM_EUNSUP, "%s: version %s is not supported: want 1.0", name, version);
  step = json_object_get (root, "truncation");
  if (!is_absent (step))
    return refuse (name, "truncation", step, "it would cut texts");
  step = json_object_get (root, "padding");
  if (!is_absent (step))
    return refuse (name, "padding", step, "it would add tokens");
  step = json_object_get (root, "normalizer");
  if (!is_absent (step) && !(strcmp (type_of (step), "Sequence") == 0
                             && json_array_size (json_object_get (step, "normalizers")) == 0))
    return refuse (name, "normalizer", step, "text is encoded as it is");
  st = read_pre_tokenizer (name, json_object_get (root, "pre_tokenizer"), t);
  if (st == MM_OK)
    st = check_post_processor (name, json_object_get (root, "post_processor"));
  step = json_object_get (root, "decoder");
  if (st == MM_OK && strcmp (type_of (step), "ByteLevel") != 0)
    st = refuse (name, "decoder", step, "want ByteLevel");
  return st;
}
