/* window.c -- a window cut into micro-batches and dealt to ranks has the gradient of one large batch, by the golden
   values of window.py; and the same bits for any number of ranks.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <sys/wait.h>

#include <minimind/comm.h>

#include "cases.h"

enum { ROWS = 7, MOST_RANKS = 5, BUCKET = 4096 };

/* Tokens of row ROW from here on are no targets; as in window.py.  */
static size_t
limit (size_t row, size_t length)
{
  const size_t limits[ROWS] = { length, 3, length / 2, 0, length, 1, 17 };

  return limits[row];
}

/* Rows [FIRST, FIRST + COUNT) of C's window, or what there is of them.  */
static void
cut (const struct test_case *c, size_t first, size_t count, struct mm_batch *b)
{
  must (mm_batch_alloc (count, c->length, b));
  for (size_t i = 0; i < count && first + i < ROWS; i++)
    {
      set_row (b, i, vocab_of (c), first + i);
      for (size_t t = limit (first + i, c->length); t < c->length; t++)
        {
          int32_t *target = &b->targets[i * c->length + t];

          b->n_targets -= *target >= 0;
          *target = -1;
        }
    }
}

static mm_status
hand_over (void *comm, size_t from)
{
  return mm_comm_hand_over (comm, from);
}

/* This rank's micro-batches of MICRO rows; then GRAD, of the mean loss, of all ranks'.  Returns the targets.  */
static uint64_t
sum_window (struct mm_comm *comm, struct test_case *c, size_t micro, float *grad)
{
  struct mm_backend *be = mm_model_backend (c->model);
  size_t size = mm_model_size (c->model), ranks = (size_t) mm_comm_size (comm), n = (ROWS + micro - 1) / micro;
  struct mm_loss loss = { 0 };
  int64_t sums[2];
  void *acc, *own = NULL, *g;

  must (mm_comm_alloc (comm, "gradient", size * sizeof (int64_t), &acc));
  if (!acc)
    must (mm_backend_alloc (be, "gradient", size * sizeof (int64_t), &own));
  acc = acc ? acc : own;
  must (mm_backend_alloc (be, "gradient", size * sizeof (float), &g));
  must (mm_comm_begin_i64 (comm, acc, size, 0, BUCKET));
  for (size_t j = (size_t) mm_comm_rank (comm); j < n; j += ranks)
    {
      struct mm_batch b;

      cut (c, j * micro, micro, &b);
      mm_pass_on_final (c->pass, j + ranks >= n ? hand_over : NULL, comm);
      must (mm_model_gradient (c->pass, &b, acc, &loss, NULL));
      mm_batch_free (&b);
    }
  sums[0] = (int64_t) loss.n_targets;
  sums[1] = loss.overflow;
  must (mm_comm_sum_i64 (comm, sums, 2));
  must (mm_comm_end (comm));
  must (mm_grad_values (be, acc, size, (uint64_t) sums[0], g));
  must (mm_backend_sync (be));
  must (mm_backend_get (be, grad, g, size * sizeof *grad));
  mm_backend_release (be, g);
  mm_backend_release (be, own);
  return sums[1] ? 0 : (uint64_t) sums[0];
}

/* Be rank RANK of RANKS.  */
static uint64_t
join_in (struct test_case *c, int rank, int ranks, int fd, size_t micro, float *grad)
{
  struct mm_comm *comm;
  uint64_t targets;

  must (mm_comm_set_environment (rank, ranks, fd));
  must (mm_comm_open ("shm", 60, &comm));
  targets = sum_window (comm, c, micro, grad);
  mm_comm_close (comm);
  return targets;
}

/* The gradient of RANKS ranks with micro-batches of MICRO rows; this process is rank 0.  */
static uint64_t
sum_over (struct test_case *c, int ranks, size_t micro, float *grad)
{
  pid_t pids[MOST_RANKS];
  uint64_t targets;
  int fd;

  must (mm_comm_window (ranks, &fd));
  fflush (NULL);
  for (int r = 1; r < ranks; r++)
    if ((pids[r] = fork ()) == 0)
      _exit (join_in (c, r, ranks, fd, micro, grad) != c->n_targets);
  targets = join_in (c, 0, ranks, fd, micro, grad);
  for (int r = 1; r < ranks; r++)
    {
      int status;

      if (waitpid (pids[r], &status, 0) < 0 || status != 0)
        targets = 0;
    }
  return targets;
}

static void
compare (const struct mm_safetensors *golden, struct test_case *c, size_t micro)
{
  size_t size = mm_model_size (c->model);
  float *one = room (size, sizeof *one), *many = room (size, sizeof *many);
  struct mm_params trained = mm_model_trained (c->model);
  char text[128];
  double error = 0;
  bool same = true;

  snprintf (text, sizeof text, "%s, micro-batches of %zu: number of targets", c->name, micro);
  ok (sum_over (c, 1, micro, one) == c->n_targets, text);
  for (size_t i = 0; i < trained.count; i++)
    error = larger (gradient_error (golden, c, one, &trained.param[i]), error);
  snprintf (text, sizeof text, "micro-batches of %zu: gradient of the mean", micro);
  /* Forward and backward in float32 are off by some 2^-21 of the maximum; a mean of means would be by a tenth.  */
  ok_error (c->name, text, error, 1e-5);
  for (int ranks = 2; ranks <= MOST_RANKS; ranks++)
    {
      memset (many, 0, size * sizeof *many);
      same = same && sum_over (c, ranks, micro, many) == c->n_targets && memcmp (one, many, size * sizeof *one) == 0;
    }
  snprintf (text, sizeof text, "%s, micro-batches of %zu: the same bits for 2 to %d ranks", c->name, micro, MOST_RANKS);
  ok (same, text);
  free (one);
  free (many);
}

int
main (void)
{
  const char *srcdir = getenv ("srcdir");
  struct mm_safetensors *golden;
  struct mm_backend *be;
  char path[4096], *cases;

  snprintf (path, sizeof path, "%s/tests/interop/window.safetensors", srcdir ? srcdir : ".");
  must (mm_safetensors_open (path, &golden));
  scratch_enter ();
  /* One thread: others would not live on in forked ranks.  */
  must (mm_backend_open ("cpu", 1, &be));
  cases = golden_text (golden, "cases", NULL);
  for (char *save, *name = strtok_r (cases, " ", &save); name; name = strtok_r (NULL, " ", &save))
    {
      struct test_case c;

      open_case (be, golden, name, &c);
      for (size_t micro = 1; micro <= 4; micro++)
        compare (golden, &c, micro);
      compare (golden, &c, ROWS);
      close_case (&c);
    }
  free (cases);
  mm_backend_close (be);
  mm_safetensors_close (golden);
  return tap_done ();
}
