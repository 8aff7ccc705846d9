/* session.c -- generation's cache: the bits of a pass over the whole sequence, however it is fed.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "small_model.h"
#include "../tap.h"

enum { LENGTH = 600 };          /* more than go through the layers together */

/* Logits of a pass over all LENGTH tokens.  */
static float *
pass_logits (struct mm_model *m, int32_t *ids)
{
  uint32_t vocab = mm_model_config (m)->vocab_size;
  struct mm_batch b = small_batch (1, LENGTH, 0, vocab, 0);
  float *logits = malloc ((size_t) LENGTH * vocab * sizeof *logits);
  struct mm_pass *p;

  if (!logits)
    exit (99);
  memcpy (ids, b.ids, LENGTH * sizeof *ids);
  must (mm_pass_create (m, 1, LENGTH, false, &p));
  must (mm_model_logits (p, &b, logits));
  mm_pass_free (p);
  mm_batch_free (&b);
  return logits;
}

/* Feed tokens FROM to TO in pieces of PIECE; true if the logits after each piece are those of
   the pass.  */
static bool
feed (struct mm_session *s, const int32_t *ids, size_t from, size_t to, size_t piece,
      const float *want, size_t vocab)
{
  float *logits = malloc (vocab * sizeof *logits);
  bool same = logits != NULL;

  for (size_t at = from, n; at < to; at += n)
    {
      n = to - at < piece ? to - at : piece;
      must (mm_session_feed (s, ids + at, n, logits));
      same &= mm_session_length (s) == at + n
              && !memcmp (logits, want + (at + n - 1) * vocab, vocab * sizeof *logits);
    }
  free (logits);
  return same;
}

static void
test_bits (struct mm_model *m)
{
  static const size_t pieces[] = { 1, 7, 64, 511, 512, 513, LENGTH };
  size_t vocab = mm_model_config (m)->vocab_size;
  int32_t ids[LENGTH];
  float *want = pass_logits (m, ids);
  struct mm_session *s;
  char name[64];

  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    {
      must (mm_session_open (m, LENGTH, &s));
      snprintf (name, sizeof name, "fed by %zu", pieces[i]);
      ok (feed (s, ids, 0, LENGTH, pieces[i], want, vocab), name);
      mm_session_close (s);
    }

  /* Back to before some other text, and on.  */
  must (mm_session_open (m, LENGTH + 50, &s));
  ok (feed (s, ids, 0, 40, 40, want, vocab), "forty tokens");
  must (mm_session_feed (s, ids + 90, 33, (float[51]) { 0 }));
  mm_session_truncate (s, 40);
  ok (mm_session_length (s) == 40 && feed (s, ids, 40, 120, 16, want, vocab),
      "truncated and fed on");
  mm_session_truncate (s, 500);
  ok (mm_session_length (s) == 120, "truncation never lengthens");
  mm_session_truncate (s, 0);
  ok (feed (s, ids, 0, 50, 50, want, vocab), "from the start again");
  mm_session_close (s);
  free (want);
}

/* Two sequences of one model do not meet.  */
static void
test_two (struct mm_model *m)
{
  size_t vocab = mm_model_config (m)->vocab_size;
  int32_t ids[LENGTH];
  float *want = pass_logits (m, ids);
  struct mm_session *s, *other;
  bool same = true;

  must (mm_session_open (m, 60, &s));
  must (mm_session_open (m, 60, &other));
  for (size_t i = 0; i < 60; i += 10)
    {
      same &= feed (s, ids, i, i + 10, 10, want, vocab);
      must (mm_session_feed (other, ids + 100 + i, 10, (float[51]) { 0 }));
    }
  ok (same, "two sessions at once");
  mm_session_close (s);
  mm_session_close (other);
  free (want);
}

static void
test_errors (struct mm_model *m)
{
  size_t vocab = mm_model_config (m)->vocab_size;
  int32_t ids[LENGTH], beyond[3] = { 1, (int32_t) vocab, 1 };
  float *want = pass_logits (m, ids), logits[51];
  struct mm_session *s;

  ok (mm_session_open (m, 0, &s) == MM_EINVAL && !s, "no room at all");
  ok (mm_session_open (m, (size_t) INT32_MAX + 1, &s) == MM_EINVAL && !s,
      "more than positions count");
  mm_session_close (NULL);
  must (mm_session_open (m, 20, &s));
  ok (mm_session_feed (s, ids, 21, logits) == MM_EUSAGE && mm_session_length (s) == 0,
      "more than max_tokens");
  ok (feed (s, ids, 0, 15, 15, want, vocab), "fifteen fit");
  ok (mm_session_feed (s, ids, 6, logits) == MM_EUSAGE && mm_session_length (s) == 15
      && strstr (mm_error_message (), "20"), "six more do not");
  ok (mm_session_feed (s, ids, 0, logits) == MM_EINVAL, "nothing to feed");
  ok (mm_session_feed (s, beyond, 3, logits) == MM_EINVAL && mm_session_length (s) == 15,
      "a token beyond the vocabulary");
  ok (feed (s, ids, 15, 20, 5, want, vocab), "and goes on as if nothing had been");
  mm_session_close (s);
  free (want);
}

int
main (void)
{
  struct mm_backend *be;

  must (mm_backend_open ("cpu", 2, &be));
  for (size_t i = 0; i < 2; i++)
    {
      struct mm_model *m = small_model (be, &small_configs[i]);

      test_bits (m);
      test_two (m);
      test_errors (m);
      mm_model_free (m);
    }
  mm_backend_close (be);
  return tap_done ();
}
