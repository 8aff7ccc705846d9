/* report.c -- figures of a trained tokenizer, as an object and as lines.
   SPDX-License-Identifier: Apache-2.0

   What the whole corpus has is known from the trainer.  Inputs one by one are not: their beginnings are kept, and
   encoded at the end.  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/memory.h>
#include <minimind/shown.h>
#include <minimind/tokenizer.h>

#include "report.h"

enum
{
  SAMPLE = 1 << 16,             /* bytes kept of an input */
  SAMPLES = 64,                 /* inputs that something is kept of */
  LISTED = 10,                  /* tokens named in a list */
  INPUT_LINES = 10              /* inputs with a line of their own */
};

struct sample
{
  char *input;
  size_t number;
  char *text;
  size_t size, capacity;
  size_t *ends;                 /* of documents */
  size_t n_ends, ends_capacity;
  bool whole;                   /* nothing of the input was left out */
};

/* ---- samples ---- */

static mm_status
new_sample (struct samples *s, const struct mm_document_part *part)
{
  mm_status st = s->each ? MM_OK : mm_alloc ("samples", SAMPLES, sizeof *s->each, &s->each);

  if (st < 0)
    return st;
  s->each[s->n] = (struct sample) { .input = strdup (part->input), .number = part->n_input, .whole = true };
  return s->each[s->n++].input ? MM_OK : mm_fail (MM_ENOMEM, "samples: out of memory");
}

mm_status
samples_add (struct samples *s, const struct mm_bpe_trainer *t, const struct mm_document_part *part)
{
  struct sample *last = s->n ? s->each + s->n - 1 : NULL;
  size_t size = part->size;
  mm_status st = MM_OK;

  if (!last || last->number != part->n_input)
    {
      if (s->n == SAMPLES)
        return MM_OK;
      st = new_sample (s, part);
      last = s->each + s->n - 1;
    }
  if (st < 0 || !last->whole)
    return st;
  if (size > SAMPLE - last->size)
    {
      last->whole = false;
      size = mm_bpe_trainer_cut (t, part->text, size, SAMPLE - last->size);
    }
  st = mm_grow ("samples", &last->text, &last->capacity, last->size + size, 1);
  if (st == MM_OK)
    st = mm_grow ("samples", &last->ends, &last->ends_capacity, last->n_ends + 1, sizeof *last->ends);
  if (st < 0)
    return st;
  if (size > 0)
    memcpy (last->text + last->size, part->text, size);
  last->size += size;
  last->ends[last->n_ends++] = last->size;
  return MM_OK;
}

void
samples_free (struct samples *s)
{
  for (size_t i = 0; i < s->n; i++)
    {
      free (s->each[i].input);
      free (s->each[i].text);
      free (s->each[i].ends);
    }
  free (s->each);
}

/* ---- the object ---- */

/* Object[KEY] = VALUE, which is consumed; false when memory is short.  */
static bool
set (json_t *object, const char *key, json_t *value)
{
  return value && json_object_set_new (object, key, value) == 0;
}

/* The token's text escaped, as a JSON string.  */
static json_t *
shown (const char *bytes, size_t size)
{
  char *text = mm_shown_text (bytes, size);
  json_t *string = text ? json_string (text) : NULL;

  free (text);
  return string;
}

static json_t *
token (const struct mm_tokenizer *t, uint32_t id)
{
  size_t size;
  const char *bytes = mm_tokenizer_bytes (t, id, &size);

  return json_pack ("{s:I, s:o, s:I}", "id", (json_int_t) id, "token", shown (bytes, size), "bytes",
                    (json_int_t) size);
}

static double
ratio (uint64_t bytes, uint64_t tokens)
{
  return tokens ? (double) bytes / (double) tokens : 0;
}

/* What the tokenizer makes of S.  */
static mm_status
add_input (json_t *inputs, struct mm_encoder *e, const struct sample *s)
{
  struct mm_ids ids = { 0 };
  mm_status st = MM_OK;

  for (size_t i = 0, at = 0; st == MM_OK && i < s->n_ends; at = s->ends[i++])
    st = mm_encode (e, s->text + at, s->ends[i] - at, 0, &ids);
  free (ids.data);
  if (st == MM_OK
      && json_array_append_new (inputs, json_pack ("{s:o, s:I, s:b, s:I, s:f}", "input",
                                                   shown (s->input, strlen (s->input)), "bytes",
                                                   (json_int_t) s->size, "whole", (int) s->whole, "tokens",
                                                   (json_int_t) ids.count, "bytes_per_token",
                                                   ratio (s->size, ids.count))) < 0)
    st = mm_fail (MM_ENOMEM, "report: out of memory");
  return st;
}

static mm_status
add_inputs (json_t *root, const struct mm_tokenizer *t, const struct samples *s)
{
  json_t *inputs = json_array ();
  struct mm_encoder *e;
  mm_status st = set (root, "inputs", inputs) ? mm_encoder_open (t, &e) : mm_fail (MM_ENOMEM, "report: out of memory");

  if (st < 0)
    return st;
  for (size_t i = 0; st == MM_OK && i < s->n; i++)
    st = add_input (inputs, e, s->each + i);
  mm_encoder_close (e);
  return st;
}

/* The tokens that the corpus does not have, special ones and bytes left out.  */
static bool
add_unused (json_t *root, const struct mm_tokenizer *t, const uint64_t *uses, uint32_t n)
{
  json_t *unused = json_array ();
  json_int_t n_bytes = 0;
  bool good = unused;
  size_t size;

  for (uint32_t id = 0; good && id < n; id++)
    if (uses[id] == 0 && !mm_tokenizer_is_special (t, id) && mm_tokenizer_bytes (t, id, &size))
      {
        if (size == 1)
          n_bytes++;
        else
          good = json_array_append_new (unused, token (t, id)) == 0;
      }
  return set (root, "unused_bytes", json_integer (n_bytes)) && set (root, "unused", unused) && good;
}

static bool
add_longest (json_t *root, const struct mm_tokenizer *t, uint32_t n)
{
  json_t *longest = json_array ();
  uint32_t best[LISTED];
  size_t sizes[LISTED], n_best = 0, size;
  bool good = longest;

  for (uint32_t id = 0; id < n; id++)
    if (!mm_tokenizer_is_special (t, id) && mm_tokenizer_bytes (t, id, &size))
      {
        size_t k = n_best < LISTED ? n_best++ : LISTED;

        /* The last place is free, or its token shorter, where K gets below LISTED.  */
        for (; k > 0 && sizes[k - 1] < size; k--)
          if (k < LISTED)
            {
              sizes[k] = sizes[k - 1];
              best[k] = best[k - 1];
            }
        if (k < LISTED)
          {
            sizes[k] = size;
            best[k] = id;
          }
      }
  for (size_t i = 0; good && i < n_best; i++)
    good = json_array_append_new (longest, token (t, best[i])) == 0;
  return set (root, "longest", longest) && good;
}

/* The content of role KEY in CONFIG, a string or an object; or NULL.  */
static const char *
role_of (const json_t *config, const char *key)
{
  const json_t *value = json_object_get (config, key);

  return json_string_value (json_is_object (value) ? json_object_get (value, "content") : value);
}

static bool
add_special (json_t *root, const struct mm_tokenizer *t, const json_t *config, uint32_t n)
{
  static const char *const roles[] = { "bos", "eos", "pad", "unk" };
  static const char *const keys[] = { "bos_token", "eos_token", "pad_token", "unk_token" };
  json_t *special = json_array ();
  bool good = special;

  for (uint32_t id = 0; good && id < n; id++)
    if (mm_tokenizer_is_special (t, id))
      {
        json_t *one = token (t, id), *list = json_array ();

        good = set (one, "roles", list) && json_array_append_new (special, one) == 0;
        for (unsigned r = 0; good && r < 4; r++)
          if (role_of (config, keys[r]) && mm_tokenizer_find (t, role_of (config, keys[r])) == (int32_t) id)
            good = json_array_append_new (list, json_string (roles[r])) == 0;
      }
  return set (root, "special", special) && good;
}

static mm_status
build (json_t *root, const struct mm_tokenizer *t, const json_t *config, const struct mm_bpe_trainer *trainer,
       uint32_t reached, const struct mm_document_counts *n, const struct samples *s)
{
  uint64_t pieces, distinct, bytes, tokens = 0;
  const uint64_t *uses = mm_bpe_trainer_uses (trainer, &bytes);
  mm_status st;

  mm_bpe_trainer_counts (trainer, &pieces, &distinct);
  for (uint32_t id = 0; id < reached; id++)
    tokens += uses[id];
  if (!set (root, "documents", json_integer ((json_int_t) n->documents))
      || !set (root, "bytes", json_integer ((json_int_t) bytes))
      || !set (root, "pieces", json_integer ((json_int_t) pieces))
      || !set (root, "distinct_pieces", json_integer ((json_int_t) distinct))
      || !set (root, "vocab_size", json_integer (reached))
      || !set (root, "tokens", json_integer ((json_int_t) tokens))
      || !set (root, "bytes_per_token", json_real (ratio (bytes, tokens))))
    return mm_fail (MM_ENOMEM, "report: out of memory");
  st = add_inputs (root, t, s);
  if (st == MM_OK && !(add_unused (root, t, uses, reached) && add_longest (root, t, reached)
                       && add_special (root, t, config, reached)))
    st = mm_fail (MM_ENOMEM, "report: out of memory");
  return st;
}

/* ---- lines ---- */

static json_int_t
integer (const json_t *object, const char *key)
{
  return json_integer_value (json_object_get (object, key));
}

static const char *
string (const json_t *object, const char *key)
{
  return json_string_value (json_object_get (object, key));
}

/* The first few tokens of the array TOKENS on one line behind TITLE.  */
static void
say_tokens (const char *title, const json_t *tokens, bool with_bytes)
{
  char line[1024];
  size_t used = 0, i;
  const json_t *one;

  json_array_foreach (tokens, i, one)
    if (i < LISTED && used < sizeof line - 1)
      {
        used += (size_t) snprintf (line + used, sizeof line - used, "%s\"%.80s\"", i ? " " : "",
                                   string (one, "token"));
        if (with_bytes && used < sizeof line - 1)
          used += (size_t) snprintf (line + used, sizeof line - used, " (%" JSON_INTEGER_FORMAT ")",
                                     integer (one, "bytes"));
      }
  if (json_array_size (tokens) > 0)
    mm_info ("%s: %s%s", title, line, json_array_size (tokens) > LISTED ? " ..." : "");
}

static void
say_special (const json_t *special)
{
  const json_t *one, *role;
  size_t i, k;

  json_array_foreach (special, i, one)
    {
      char roles[64] = "";

      json_array_foreach (json_object_get (one, "roles"), k, role)
        {
          strcat (roles, k ? ", " : ": ");
          strcat (roles, json_string_value (role));
        }
      if (*roles || i < LISTED)
        mm_info ("special token %" JSON_INTEGER_FORMAT " %s%s", integer (one, "id"), string (one, "token"), roles);
    }
}

static void
say_input (const json_t *one)
{
  char bytes[32];
  double figure = json_real_value (json_object_get (one, "bytes_per_token"));

  if (json_is_true (json_object_get (one, "whole")))
    mm_info ("  %.3f in %s", figure, string (one, "input"));
  else
    mm_info ("  %.3f in the first %s of %s", figure, mm_format_bytes ((uint64_t) integer (one, "bytes"), bytes),
             string (one, "input"));
}

static void
say (const json_t *root)
{
  const json_t *inputs = json_object_get (root, "inputs"), *unused = json_object_get (root, "unused"), *one;
  char title[64];
  size_t i;

  mm_info ("%.3f bytes a token", json_real_value (json_object_get (root, "bytes_per_token")));
  json_array_foreach (inputs, i, one)
    if (i < INPUT_LINES || mm_log_get_level () == MM_LOG_VERBOSE)
      say_input (one);
  snprintf (title, sizeof title, "%s not in the corpus as merged", MM_COUNT (json_array_size (unused), "token"));
  say_tokens (title, unused, false);
  say_tokens ("longest, with their bytes", json_object_get (root, "longest"), true);
  say_special (json_object_get (root, "special"));
}

static void
say_counts (const struct train_tokenizer_config *c, const struct mm_bpe_trainer *t,
            const struct mm_document_counts *n, uint32_t reached)
{
  char bytes[32];
  uint64_t pieces, distinct;

  mm_bpe_trainer_counts (t, &pieces, &distinct);
  mm_info ("%s, %s, %s, %" PRIu64 " distinct; %s", MM_COUNT (n->documents, "document"),
           mm_format_bytes (n->bytes, bytes), MM_COUNT (pieces, "piece"), distinct, MM_COUNT (reached, "token"));
  if (n->empty)
    mm_info ("%s left out", MM_COUNT (n->empty, "empty document"));
  if (n->skipped)
    mm_warn ("%s left out because of errors", MM_COUNT (n->skipped, "document"));
  if (n->replaced)
    mm_warn ("%s U+FFFD put in for what is not UTF-8", MM_COUNT (n->replaced, "time"));
  if (reached < c->bpe.vocab_size)
    mm_warn ("the corpus ran dry: %s reached, %" PRIu32 " asked for", MM_COUNT (reached, "token"),
             c->bpe.vocab_size);
}

mm_status
report (const struct train_tokenizer_config *c, const struct mm_bpe_trainer *t, const char *json,
        const char *config, uint32_t reached, const struct mm_document_counts *n, const struct samples *s)
{
  struct mm_tokenizer *tokenizer;
  json_t *root = json_object (), *settings = config ? json_loads (config, 0, NULL) : NULL;
  char *text = NULL;
  mm_status st = mm_tokenizer_parse (c->output, json, strlen (json), config, config ? strlen (config) : 0,
                                     &tokenizer);

  if (st == MM_OK)
    {
      say_counts (c, t, n, reached);
      st = build (root, tokenizer, settings, t, reached, n, s);
      if (st == MM_OK)
        say (root);
      if (st == MM_OK && c->json)
        st = mm_json_text (root, true, &text);
      if (text)
        fputs (text, stdout);
      mm_tokenizer_free (tokenizer);
    }
  json_decref (settings);
  json_decref (root);
  free (text);
  return st;
}
