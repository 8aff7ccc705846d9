/* load_pipeline.c -- what a tokenizer.json does before and after its model.
   SPDX-License-Identifier: Apache-2.0

   Each step either does nothing to ids, or is one that lib/text knows, or is refused by name:
   a step left out in silence would give other ids than HF.  */

#include <config.h>

#include <string.h>

#include <minimind/json.h>

#include "tokenizer_impl.h"

const char *
mm_load_type (const json_t *step)
{
  const char *type = json_string_value (json_object_get (step, "type"));

  return type ? type : "";
}

mm_status
mm_load_refuse (const char *name, const char *what, const json_t *step, const char *why)
{
  const char *type = mm_load_type (step);

  return mm_fail (MM_EUNSUP, "%s: %s%s%s is not supported: %s", name, what, *type ? " " : "", type,
                  why);
}

static bool
is_absent (const json_t *step)
{
  return !step || json_is_null (step);
}

/* NFC, by itself or in sequences, or nothing.  */
static mm_status
read_normalizer (const char *name, const json_t *step, struct mm_tokenizer *t)
{
  const json_t *steps = json_object_get (step, "normalizers"), *one;
  mm_status st = MM_OK;
  size_t i;

  if (is_absent (step))
    return MM_OK;
  if (strcmp (mm_load_type (step), "NFC") == 0)
    {
      t->nfc = true;
      return MM_OK;
    }
  if (strcmp (mm_load_type (step), "Sequence") != 0)
    return mm_load_refuse (name, "normalizer", step, "only NFC is");
  json_array_foreach (steps, i, one)
    if ((st = read_normalizer (name, one, t)) < 0)
      break;
  return st;
}

/* Text is encoded as with add_special_tokens = false, so that templates, which add tokens around a
   text, do nothing; the tokens that a document begins and ends with are the caller's to add.  */
static mm_status
check_post_processor (const char *name, const json_t *step)
{
  static const char *const known[] = { "ByteLevel", "TemplateProcessing", "BertProcessing",
                                       "RobertaProcessing" };
  const json_t *steps = json_object_get (step, "processors"), *one;
  const char *type = mm_load_type (step);
  mm_status st = MM_OK;
  size_t i;

  if (is_absent (step))
    return MM_OK;
  for (i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp (type, known[i]) == 0)
      return MM_OK;
  if (strcmp (type, "Sequence") != 0)
    return mm_load_refuse (name, "post_processor", step, "it may change ids");
  json_array_foreach (steps, i, one)
    if ((st = check_post_processor (name, one)) < 0)
      break;
  return st;
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
    return mm_load_refuse (name, "truncation", step, "it would cut texts");
  step = json_object_get (root, "padding");
  if (!is_absent (step))
    return mm_load_refuse (name, "padding", step, "it would add tokens");
  st = read_normalizer (name, json_object_get (root, "normalizer"), t);
  if (st == MM_OK)
    st = mm_load_pre_tokenizer (name, json_object_get (root, "pre_tokenizer"), t);
  if (st == MM_OK)
    st = check_post_processor (name, json_object_get (root, "post_processor"));
  step = json_object_get (root, "decoder");
  if (st == MM_OK && strcmp (mm_load_type (step), "ByteLevel") != 0)
    st = mm_load_refuse (name, "decoder", step, "want ByteLevel");
  return st;
}
