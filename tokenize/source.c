/* source.c -- the documents to be encoded: texts or conversations, as asked for or as the first one shows.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/log.h>

#include "source.h"

/* mm_encode_cut for documents.h; ARG is a struct source.  */
static size_t
cut (const void *arg, const char *text, size_t size, size_t limit)
{
  const struct source *s = arg;

  return mm_encode_cut (s->t, text, size, limit, s->flags);
}

/* Conversations end as their template renders them.  */
static mm_status
refuse_text_options (const struct tokenize_config *c)
{
  const char *option = c->bos ? "--bos" : c->no_eos ? "--no-eos" : c->eos ? "--eos"
                       : c->parse_special ? "--parse-special" : NULL;

  return option ? mm_fail (MM_EUSAGE, "%s: is for texts, and these are conversations: the template gives their "
                           "tokens, nothing is added", option) : MM_OK;
}

/* Who talks to a model of these goes by the tokenizer's configuration, unless told.  */
static void
warn_of_another (const struct source *s)
{
  enum mm_chat_template named;

  if (mm_chat_template_find ("auto", s->t, &named) == MM_OK && named != s->rows.template)
    mm_warn ("the tokenizer's configuration names the template %s: to talk to a model of these conversations, give "
             "generate --chat-template=%s", mm_chat_template_name (named), mm_chat_template_name (s->rows.template));
}

static mm_status
find_template (const struct tokenize_config *c, struct source *s)
{
  mm_status st = refuse_text_options (c);

  if (st < 0)
    return st;
  s->rows.minimind = c->minimind_compatible;
  st = mm_chat_template_find (c->chat_template ? c->chat_template : "auto", s->t, &s->rows.template);
  if (st == MM_EUNSUP)
    return mm_fail_prefix (st, "%s: --chat-template", c->tokenizer);
  if (st == MM_OK)
    warn_of_another (s);
  if (st == MM_OK)
    mm_verbose ("conversations, by the template %s", mm_chat_template_name (s->rows.template));
  return st;
}

mm_status
source_open (const struct tokenize_config *c, struct source *s)
{
  struct mm_document_options options = c->documents;
  mm_status st = mm_tokenizer_load (c->tokenizer, &s->t);

  s->flags = c->parse_special ? MM_PARSE_SPECIAL : 0;
  options.cut = cut;
  options.cut_arg = s;
  options.detect = options.field ? NULL : mm_chat_detect;
  if (st == MM_OK)
    st = mm_documents_open (c->inputs, c->n_inputs, &options, &s->documents);
  if (st == MM_OK)
    st = mm_documents_begin (s->documents, &s->chat);
  if (st < 0)
    return st;
  return s->chat ? find_template (c, s) : tokenize_frame_find (c, s->t, &s->frame);
}

void
source_close (struct source *s)
{
  mm_documents_close (s->documents);
  mm_tokenizer_free (s->t);
}
