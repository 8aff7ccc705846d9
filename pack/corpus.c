/* corpus.c -- the inputs: opened as they are needed, of one tokenizer.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "corpus.h"

enum { KEPT_OPEN = 16 };        /* inputs, at most, that stay open while others are read */

/* Two files of one tokenizer may still differ in its configuration, where eos and pad stand.  A is that of
   WHAT.  */
static mm_status
check_tokenizer (const struct mm_tokenizer *a, const char *what, const struct mm_tokens *f)
{
  const struct mm_tokenizer *b = mm_tokens_tokenizer (f);
  const char *json, *config[2];
  size_t json_size, config_size[2];

  if (a == b)
    return MM_OK;
  if (strcmp (mm_tokenizer_sha256 (a), mm_tokenizer_sha256 (b)) != 0)
    return mm_fail (MM_EFORMAT, "%s: tokenizer %s, but %s has %s", mm_tokens_path (f),
                    mm_tokenizer_sha256 (b), what, mm_tokenizer_sha256 (a));
  mm_tokenizer_files (a, &json, &json_size, &config[0], &config_size[0]);
  mm_tokenizer_files (b, &json, &json_size, &config[1], &config_size[1]);
  if (config_size[0] != config_size[1]
      || (config_size[0] > 0 && memcmp (config[0], config[1], config_size[0]) != 0))
    return mm_fail (MM_EFORMAT, "%s: tokenizer_config.json is not that of %s", mm_tokens_path (f), what);
  return MM_OK;
}

mm_status
corpus_enter (struct corpus *c, size_t i, struct mm_tokens **f)
{
  const char *path = c->config->inputs[i].path;
  struct input *input = &c->inputs[i];
  mm_status st = MM_OK;

  if (!input->file)
    {
      st = mm_tokens_open_any (path, c->tokenizer, c->config->split_at_eos, &input->file);
      if (st >= 0 && (mm_tokens_documents (input->file) != input->documents
                      || mm_tokens_count (input->file) != input->tokens))
        st = mm_fail (MM_EFORMAT, "%s: changed while it was read", path);
    }
  *f = input->file;
  return st;
}

void
corpus_leave (struct corpus *c, size_t i)
{
  /* The first one's tokenizer is everybody's.  */
  if (i == 0 || c->config->n_inputs <= KEPT_OPEN)
    return;
  mm_tokens_close (c->inputs[i].file);
  c->inputs[i].file = NULL;
}

/* A model that is to answer learns one template.  */
static mm_status
check_template (struct corpus *c, const struct mm_tokens *f)
{
  const char *name = mm_tokens_chat_template (f);

  if (!name)
    return MM_OK;
  if (!c->chat_template && !(c->chat_template = strdup (name)))
    return mm_fail (MM_ENOMEM, "no memory for a name");
  if (strcmp (c->chat_template, name) != 0)
    return mm_fail (MM_EFORMAT, "%s: conversations by the template %.80s, but those before are by %.80s",
                    mm_tokens_path (f), name, c->chat_template);
  return MM_OK;
}

/* See what input I is.  */
static mm_status
meet (struct corpus *c, size_t i)
{
  const struct pack_config *config = c->config;
  const char *path = config->inputs[i].path;
  struct input *input = &c->inputs[i];
  struct source *source = &c->sources[config->inputs[i].source];
  mm_status st = mm_tokens_open_any (path, c->tokenizer, config->split_at_eos, &input->file);

  if (st < 0)
    return st;
  if (!mm_tokens_is_ours (input->file) && !c->given)
    return mm_fail (MM_EUSAGE, "%s: is no token file, so its tokenizer is told by --tokenizer=FILE", path);
  if (!c->tokenizer)
    c->tokenizer = mm_tokens_tokenizer (input->file);
  st = check_tokenizer (c->tokenizer, c->given ? config->tokenizer : config->inputs[0].path, input->file);
  if (st >= 0)
    st = check_template (c, input->file);
  input->documents = mm_tokens_documents (input->file);
  input->tokens = mm_tokens_count (input->file);
  input->first_document = c->documents;
  c->documents += input->documents;
  source->turns += mm_tokens_turns (input->file);
  c->with_mask |= mm_tokens_has_mask (input->file);
  if (source->inputs++ == 0)
    source->first_input = i;
  corpus_leave (c, i);
  return st;
}

mm_status
corpus_open (const struct pack_config *config, struct corpus *c)
{
  mm_status st;

  *c = (struct corpus) { .config = config };
  st = mm_alloc ("inputs", config->n_inputs, sizeof *c->inputs, &c->inputs);
  if (st >= 0)
    st = mm_alloc ("sources", config->n_sources, sizeof *c->sources, &c->sources);
  if (st >= 0 && config->tokenizer)
    {
      st = mm_tokenizer_load (config->tokenizer, &c->given);
      c->tokenizer = c->given;
    }
  for (size_t i = 0; st >= 0 && i < config->n_inputs; i++)
    st = meet (c, i);
  return st < 0 ? st : mm_alloc ("documents", c->documents / 4 + 1, 1, &c->fates);
}

void
corpus_close (struct corpus *c)
{
  for (size_t i = c->config->n_inputs; c->inputs && i-- > 0;)
    mm_tokens_close (c->inputs[i].file);
  free (c->inputs);
  free (c->sources);
  free (c->fates);
  free (c->chat_template);
  mm_tokenizer_free (c->given);
}
