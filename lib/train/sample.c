/* sample.c -- let the model speak while it is being trained.
   SPDX-License-Identifier: Apache-2.0

   For a person to look at; minimind-generate is the tool for text.  */

#include <config.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/log.h>
#include <minimind/memory.h>

#include "trainer.h"

enum { PROMPT_TOKENS = 8, NEW_TOKENS = 64 };

static const struct mm_sampling how = { .temperature = 0.8, .top_k = 40, .top_p = 0.95 };

/* Everything a sample needs, in one place to free.  */
struct sample
{
  struct mm_ids ids;            /* prompt, then what was sampled */
  struct mm_session *session;
  float *logits, *scratch;      /* [vocab] */
  int32_t *order, *feed;        /* [vocab], [prompt] */
  char *text;
};

/* Without --sample-prompt the sample begins as the first row of the data does, of the rows held out if
   there are any.  */
static mm_status
prompt_from_data (const struct mm_dataset *d, struct mm_ids *ids)
{
  enum mm_split split = mm_dataset_rows (d, MM_VALIDATION) > 0 ? MM_VALIDATION : MM_TRAIN;
  size_t width = (size_t) mm_dataset_seq_len (d) + 1;
  uint32_t *row = NULL;
  uint8_t *flags = NULL;
  mm_status st = mm_alloc ("sample prompt", width, sizeof *row, &row);

  if (st == MM_OK)
    st = mm_alloc ("sample prompt", 2 * width, sizeof *flags, &flags);
  if (st == MM_OK)
    st = mm_dataset_read (d, split, 0, row, flags, flags + width);
  if (st == MM_OK)
    {
      free (ids->data);
      *ids = (struct mm_ids) { row, width < PROMPT_TOKENS ? width : PROMPT_TOKENS, width };
      row = NULL;
    }
  free (row);
  free (flags);
  return st;
}

static mm_status
prompt_ids (const struct mm_trainer *t, struct mm_ids *ids)
{
  const char *text = t->config->sample_prompt;
  struct mm_encoder *e = NULL;
  mm_status st;

  if (!*text)
    return prompt_from_data (t->data, ids);
  st = mm_encoder_open (mm_dataset_tokenizer (t->data), &e);
  if (st == MM_OK)
    st = mm_encode (e, text, strlen (text), 0, ids);
  if (st < 0)
    st = mm_fail_prefix (st, "--sample-prompt");
  mm_encoder_close (e);
  return st;
}

/* Feed the prompt, then sample until the document ends or enough is said.  */
static mm_status
speak (struct mm_trainer *t, struct sample *s)
{
  size_t vocab = t->shape.vocab_size, prompt = s->ids.count;
  struct mm_sampling sampling = how;
  int32_t next;
  mm_status st;

  sampling.seed = t->config->compute.seed;
  for (size_t i = 0; i < prompt; i++)
    s->feed[i] = (int32_t) s->ids.data[i];
  st = mm_session_feed (s->session, s->feed, prompt, s->logits);
  while (st == MM_OK && s->ids.count < prompt + NEW_TOKENS)
    {
      next = mm_sample (&sampling, s->logits, vocab, s->ids.count, s->scratch, s->order);
      if (next < 0 || next == t->shape.eos_id)
        break;
      st = mm_grow ("sample", &s->ids.data, &s->ids.capacity, s->ids.count + 1, sizeof *s->ids.data);
      if (st < 0)
        break;
      s->ids.data[s->ids.count++] = (uint32_t) next;
      st = mm_session_feed (s->session, &next, 1, s->logits);
    }
  return st;
}

/* One line, which can't steer the terminal.  */
static void
flatten (char *text, size_t size)
{
  for (size_t i = 0; i < size; i++)
    if ((unsigned char) text[i] < 0x20 || text[i] == 0x7f)
      text[i] = ' ';
}

static mm_status
show (const struct mm_trainer *t, struct sample *s)
{
  size_t size = 0, capacity = 0;
  mm_status st = mm_decode (mm_dataset_tokenizer (t->data), s->ids.data, s->ids.count, false, &s->text,
                            &size, &capacity);

  if (st < 0)
    return st;
  flatten (s->text, size);
  size -= mm_utf8_incomplete_tail (s->text, size);
  mm_info ("step %" PRIu64 ": %.*s", t->state.step, (int) size, s->text);
  return MM_OK;
}

static mm_status
make_room (struct mm_trainer *t, struct sample *s)
{
  size_t vocab = t->shape.vocab_size, prompt = s->ids.count;
  mm_status st = mm_alloc ("sample", vocab, 2 * sizeof *s->logits, &s->logits);

  if (st == MM_OK)
    st = mm_alloc ("sample", vocab + prompt, sizeof *s->order, &s->order);
  if (st == MM_OK)
    st = mm_session_open (t->model, prompt + NEW_TOKENS, &s->session);
  s->scratch = s->logits ? s->logits + vocab : NULL;
  s->feed = s->order ? s->order + vocab : NULL;
  return st;
}

mm_status
mm_trainer_sample (struct mm_trainer *t)
{
  struct sample s = { 0 };
  mm_status st = prompt_ids (t, &s.ids);

  if (st == MM_OK)
    st = make_room (t, &s);
  if (st == MM_OK)
    st = speak (t, &s);
  if (st == MM_OK)
    st = show (t, &s);
  mm_session_close (s.session);
  free (s.ids.data);
  free (s.logits);
  free (s.order);
  free (s.text);
  return st;
}
