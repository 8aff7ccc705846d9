/* Tests of comm.h: the transport of one process.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include <minimind/comm.h>

#include "../tap.h"

static void
test_names (void)
{
  struct mm_comm *c;

  ok (mm_comm_open ("auto", &c) == MM_OK, "auto opens");
  ok (strcmp (mm_comm_name (c), "self") == 0, "and is self");
  mm_comm_close (c);
  ok (mm_comm_open ("carrier pigeon", &c) == MM_EUNSUP && !c, "an unknown transport is refused");
  ok (strstr (mm_error_message (), "carrier pigeon") != NULL, "by name");
  mm_comm_close (NULL);
}

static void
test_calls (struct mm_comm *c)
{
  int64_t sums[3] = { 1, -2, INT64_MAX };
  char text[] = "hello";

  ok (mm_comm_rank (c) == 0 && mm_comm_size (c) == 1, "rank 0 of 1");
  ok (mm_comm_barrier (c) == MM_OK, "barrier passes");
  ok (mm_comm_broadcast (c, text, sizeof text, 0) == MM_OK && strcmp (text, "hello") == 0,
      "broadcast keeps the root's bytes");
  ok (mm_comm_broadcast (c, text, sizeof text, 1) == MM_EINVAL, "no rank 1 to broadcast from");
  ok (mm_comm_broadcast (c, text, sizeof text, -1) == MM_EINVAL, "nor rank -1");
  ok (mm_comm_sum_i64 (c, sums, 3) == MM_OK && sums[0] == 1 && sums[1] == -2
      && sums[2] == INT64_MAX, "the sum over one rank is its own");
  ok (mm_comm_agree (c, MM_OK) == MM_OK, "agree on success");
  ok (mm_comm_agree (c, mm_fail (MM_EIO, "disk on fire")) == MM_EIO
      && strcmp (mm_error_message (), "disk on fire") == 0, "agree on failure, message kept");
}

int
main (void)
{
  struct mm_comm *c;

  test_names ();
  if (mm_comm_open ("self", &c) < 0)
    return 1;
  test_calls (c);
  mm_comm_close (c);
  return tap_done ();
}
