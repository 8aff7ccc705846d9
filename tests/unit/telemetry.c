/* telemetry.c -- lines of JSON, records of TensorBoard, and what happens when neither can be written.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include <minimind/files.h>
#include <minimind/json.h>
#include <minimind/telemetry.h>

#include "../../lib/telemetry/tfevents.h"
#include "../tap.h"
#include "scratch.h"

/* The record is these bytes, given in hexadecimal.  */
static int
record_is (mm_status st, char *data, size_t size, const char *hex)
{
  int same = st == MM_OK && strlen (hex) == 2 * size;

  for (size_t i = 0; same && i < size; i++)
    {
      char text[3];

      snprintf (text, sizeof text, "%02x", (unsigned char) data[i]);
      same = memcmp (text, hex + 2 * i, 2) == 0;
    }
  free (data);
  return same;
}

/* Bytes worked out from the definition; that TensorBoard reads such records: tests/interop/make-io-goldens.py.  */
static void
test_records (void)
{
  static const struct mm_scalar loss = { "loss", 0.5f };
  char *data = NULL;
  size_t size = 0;
  mm_status st;

  ok (mm_crc32c ("123456789", 9) == 0xe3069283, "CRC-32C of the check string");
  ok (mm_crc32c ("", 0) == 0, "and of nothing");
  st = mm_tfevents_version (1.0, &data, &size);
  ok (record_is (st, data, size, "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a32"
                 "86bf577a"), "the first record");
  st = mm_tfevents_scalars (2.0, 300, &loss, 1, &data, &size);
  ok (record_is (st, data, size, "1b000000000000001a0d9e1309000000000000004010ac022a0d0a0b0a046c6f7373150000"
                 "003fdfc52b60"), "a scalar");
}

static int
count_lines (const char *path)
{
  char *text;
  size_t size;
  int n = 0;

  if (mm_read_file (path, 1 << 20, &text, &size) < 0)
    return -1;
  for (size_t i = 0; i < size; i++)
    n += text[i] == '\n';
  free (text);
  return n;
}

/* The N-th line (from 0) of PATH as a new JSON value, or NULL.  */
static json_t *
line_at (const char *path, int n)
{
  char *text, *at;
  size_t size;
  json_t *json = NULL;

  if (mm_read_file (path, 1 << 20, &text, &size) < 0)
    return NULL;
  for (at = text; n > 0 && at; n--)
    {
      at = strchr (at, '\n');
      at = at ? at + 1 : NULL;
    }
  if (at && strchr (at, '\n') && mm_json_parse ("line", at, strcspn (at, "\n"), &json) < 0)
    json = NULL;
  free (text);
  return json;
}

static void
log_one (struct mm_runlog *log, uint64_t step)
{
  mm_runlog_metrics (log, step, json_pack ("{s:I, s:f, s:n, s:{s:f}}", "step", (json_int_t) step, "loss", 2.5,
                                           "grad_norm", "seconds", "data", 0.5));
}

/* The lengths of the records in the one event file of DIR are those of LENGTHS, up to its 0.  */
static int
event_file_is (const char *dir, const uint64_t *lengths)
{
  DIR *d = opendir (dir);
  char path[4200], *data = NULL;
  size_t size = 0, at = 0;
  int same = d != NULL;

  for (struct dirent *e; d && (e = readdir (d));)
    if (strstr (e->d_name, ".tfevents."))
      {
        snprintf (path, sizeof path, "%s/%s", dir, e->d_name);
        same &= !data && mm_read_file (path, 10000, &data, &size) == MM_OK;
      }
  for (; same && *lengths; lengths++)
    {
      uint64_t length = 0;

      if (size - at >= 8)
        memcpy (&length, data + at, 8);
      same = length == *lengths && size - at >= 16 + length;
      at += 16 + length;
    }
  if (d)
    closedir (d);
  free (data);
  return same && at == size;
}

static void
test_log (void)
{
  struct mm_runlog *log;
  json_t *line;
  FILE *f;

  mkdir ("run", 0777);
  ok (mm_runlog_open ("run", "extra.jsonl", &log) == MM_OK && scratch_count ("run/log") == 3,
      "a log: two files of lines, one of events");
  log_one (log, 1);
  mm_runlog_event (log, "start", json_pack ("{s:i}", "step", 0));
  ok (count_lines ("run/log/metrics.jsonl") == 1 && count_lines ("extra.jsonl") == 1
      && count_lines ("run/log/events.jsonl") == 1, "a line each, at once");
  line = line_at ("run/log/metrics.jsonl", 0);
  ok (json_integer_value (json_object_get (line, "step")) == 1
      && json_is_null (json_object_get (line, "grad_norm"))
      && json_object_get (json_object_get (line, "seconds"), "data"), "metrics as given");
  json_decref (line);
  line = line_at ("run/log/events.jsonl", 0);
  ok (strcmp (json_string_value (json_object_get (line, "event")), "start") == 0
      && json_string_length (json_object_get (line, "time")) == 20 && json_object_get (line, "step"),
      "an event with its name and time");
  json_decref (line);
  mm_runlog_close (log);
  mm_runlog_close (NULL);
  /* Version; restart at step 1; a summary of loss and seconds/data.  */
  ok (event_file_is ("run/log", (uint64_t[]) { 24, 15, 9 + 2 + 2 + 2 + 11 + 2 + 19, 0 }),
      "TensorBoard's file holds three records");
  f = fopen ("run/log/metrics.jsonl", "a");
  ok (f && fputs ("{\"step\": 2, \"lo", f) >= 0 && fclose (f) == 0, "a run is killed in the middle of a line");
  ok (mm_runlog_open ("run", NULL, &log) == MM_OK && scratch_count ("run/log") == 4,
      "the next start has an event file of its own");
  log_one (log, 2);
  mm_runlog_close (log);
  line = line_at ("run/log/metrics.jsonl", 2);
  ok (count_lines ("run/log/metrics.jsonl") == 3 && json_integer_value (json_object_get (line, "step")) == 2,
      "and its lines stand alone");
  json_decref (line);
  ok (count_lines ("extra.jsonl") == 1, "the extra file is as it was");
}

static void
test_failures (void)
{
  struct mm_runlog *log;

  ok (mm_runlog_open ("none", NULL, &log) == MM_EIO && !log && strstr (mm_error_message (), "none"), "no run folder");
  mkdir ("other", 0777);
  ok (mm_runlog_open ("other", "none/extra", &log) == MM_EIO && strstr (mm_error_message (), "none/extra"),
      "an extra file that cannot be made");
  ok (mm_runlog_open ("other", "/dev/full", &log) == MM_OK, "one on a full device");
  log_one (log, 1);
  log_one (log, 2);
  mm_runlog_metrics (log, 3, NULL);
  mm_runlog_event (log, "lost", NULL);
  ok (count_lines ("other/log/metrics.jsonl") == 2, "stops nothing: the other files go on");
  mm_runlog_close (log);
  scratch_put ("file", "x", 1);
  ok (mm_runlog_open ("file", NULL, &log) == MM_EIO, "a file in place of the folder");
}

/* A file-size limit stands in for a disk that is full for a while: it takes half a line.  */
static void
test_full_for_a_while (void)
{
  struct rlimit before, small;
  struct mm_runlog *log;
  struct stat s = { 0 };
  json_t *line;

  mkdir ("while", 0777);
  signal (SIGXFSZ, SIG_IGN);
  getrlimit (RLIMIT_FSIZE, &before);
  small = before;
  ok (mm_runlog_open ("while", NULL, &log) == MM_OK, "a log");
  log_one (log, 1);
  stat ("while/log/metrics.jsonl", &s);
  small.rlim_cur = (rlim_t) s.st_size + 20;
  setrlimit (RLIMIT_FSIZE, &small);
  log_one (log, 2);
  setrlimit (RLIMIT_FSIZE, &before);
  log_one (log, 3);
  mm_runlog_close (log);
  line = line_at ("while/log/metrics.jsonl", 1);
  ok (count_lines ("while/log/metrics.jsonl") == 2 && json_integer_value (json_object_get (line, "step")) == 3,
      "a line that found no room is left out whole, the next one stands alone");
  json_decref (line);
  ok (event_file_is ("while/log", (uint64_t[]) { 24, 15, 47, 47, 0 }), "the same for TensorBoard's records");
}

int
main (void)
{
  scratch_enter ();
  test_records ();
  test_log ();
  test_failures ();
  test_full_for_a_while ();
  return tap_done ();
}
