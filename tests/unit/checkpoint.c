/* checkpoint.c -- step folders survive damage, full disks and kills; nothing is overwritten.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <minimind/checkpoint.h>
#include <minimind/files.h>
#include <minimind/hash.h>

#include "../tap.h"
#include "scratch.h"
#include "small_model.h"
#include "tiny.h"

static struct mm_backend *be;
static struct mm_model *model;
static struct mm_tokenizer *tokenizer;
static float *values, *m, *v;

static int
says (const char *part)
{
  return strstr (mm_error_message (), part) != NULL;
}

static int
exists (const char *path)
{
  struct stat s;

  return lstat (path, &s) == 0;
}

static void
make_model (void)
{
  size_t n;

  must (mm_backend_open ("cpu", 1, &be));
  model = small_model (be, &small_configs[1]);
  tokenizer = tiny_tokenizer (TINY_VOCAB);
  n = mm_model_size (model);
  values = malloc (n * sizeof *values);
  m = malloc (n * sizeof *m);
  v = malloc (n * sizeof *v);
  if (!values || !m || !v)
    exit (99);
  must (mm_backend_get (be, values, mm_model_values (model), n * sizeof *values));
  for (size_t i = 0; i < n; i++)
    {
      m[i] = (float) i * 0.25f;
      v[i] = (float) i + 0.5f;
    }
}

/* trainer.json of step 100, note "a".  */
static const char state_text[] = "{\n  \"step\": 100,\n  \"note\": \"a\"\n}\n";

/* Save STEP of a run whose state says NOTE.  */
static mm_status
save (const char *out, uint64_t step, const char *note, int keep)
{
  struct mm_checkpoint c = { .step = step };
  mm_status st;

  c.state = json_pack ("{s:I, s:s}", "step", (json_int_t) step, "note", note);
  st = mm_checkpoint_save (out, &c, model, values, m, v, tokenizer, keep);

  json_decref (c.state);
  return st;
}

/* The newest valid step folder of OUT is called NAME (NULL: there is none).  */
static int
newest_is (const char *out, const char *name)
{
  char *dir;
  int good = mm_checkpoint_newest (out, &dir) == MM_OK
             && (name ? dir && strcmp (strrchr (dir, '/') + 1, name) == 0 : !dir);

  free (dir);
  return good;
}

static void
test_lock (void)
{
  struct mm_run_lock *lock = NULL, *other;

  ok (mm_run_lock_take ("runs/deep/a", &lock) == MM_OK && exists ("runs/deep/a/LOCK"),
      "a run folder is made and held");
  ok (mm_run_lock_take ("runs/deep/a", &other) == MM_EBUSY && !other && says ("runs/deep/a/LOCK")
      && says ("process"), "by one only, who is named");
  mm_run_lock_release (lock);
  ok (!exists ("runs/deep/a") && exists ("runs/deep"), "a folder made for nothing goes with the lock");
  mkdir ("runs/deep/a", 0777);
  ok (mm_run_lock_take ("runs/deep/a", &lock) == MM_OK, "a folder that was there is held");
  mm_run_lock_release (lock);
  ok (exists ("runs/deep/a/LOCK"), "and stays");
  mkdir ("runs/deep/a/.step-00000003.99.0.tmp", 0777);
  scratch_put ("runs/deep/a/.step-00000003.99.0.tmp/model.safetensors", "x", 1);
  scratch_put ("runs/deep/a/.latest.99.tmp", "x", 1);
  scratch_put ("runs/deep/a/.mine.tmp", "x", 1);
  scratch_put ("runs/deep/a/mine", "x", 1);
  ok (mm_run_lock_take ("runs/deep/a", &lock) == MM_OK, "released, it can be taken again");
  ok (scratch_count ("runs/deep/a") == 3 && exists ("runs/deep/a/.mine.tmp"),
      "what a dead run left is removed, nothing else");
  mm_run_lock_release (lock);
  mm_run_lock_release (NULL);
  ok (mm_run_lock_take ("runs/deep/a/mine", &lock) == MM_EIO && says ("mine") && !lock, "a file is no run folder");
  mkdir ("runs/deep/data", 0777);
  scratch_put ("runs/deep/data/dataset.json", "{}", 2);
  ok (mm_run_lock_take ("runs/deep/data", &lock) == MM_EUSAGE && says ("a dataset folder") && !lock
      && scratch_count ("runs/deep/data") == 1, "a dataset is none, and nothing is put there");
  ok (mm_run_lock_take ("runs/deep/b", &lock) == MM_OK, "another one");
  scratch_put ("runs/deep/b/mine", "x", 1);
  mm_run_lock_release (lock);
  ok (exists ("runs/deep/b/LOCK") && exists ("runs/deep/b/mine"), "stays when something is in it");
  ok (mm_run_lock_take ("/proc/none", &lock) == MM_EIO, "a folder that cannot be made");

  ok (mm_run_lock_take ("runs/deep/c", &lock) == MM_OK && mm_run_lock_check (lock) == MM_OK, "a lock that is held");
  unlink ("runs/deep/c/LOCK");
  ok (mm_run_lock_check (lock) == MM_EIO && says ("runs/deep/c/LOCK") && says ("taken away"), "and taken away");
  ok (mm_run_lock_take ("runs/deep/c", &other) == MM_OK && mm_run_lock_check (other) == MM_OK,
      "another run may begin there");
  ok (mm_run_lock_check (lock) == MM_EBUSY && says ("another run's"), "which the first one sees");
  mm_run_lock_release (other);
  mm_run_lock_release (lock);
}

static void
test_save (void)
{
  char hash[MM_SHA256_TEXT], again[MM_SHA256_TEXT], link[100] = "", *text, *lines;
  size_t size;

  mkdir ("run", 0777);
  ok (newest_is ("run", NULL) && newest_is ("no-run", NULL), "no checkpoint yet");
  ok (save ("run", 100, "a", 3) == MM_OK && scratch_count ("run/step-00000100") == 8, "saved: eight files");
  ok (scratch_count ("run") == 2 && readlink ("run/latest", link, sizeof link - 1) > 0
      && strcmp (link, "step-00000100") == 0, "and a link to them");
  ok (mm_checkpoint_verify ("run/step-00000100") == MM_OK && newest_is ("run", "step-00000100"), "it verifies");
  must (mm_read_file ("run/step-00000100/MANIFEST", 10000, &text, &size));
  lines = strstr (text, ".json\n");
  while (lines && lines[6] == '#')
    lines = strchr (lines + 6, '\n') - 5;
  must (mm_sha256_bytes (lines ? lines + 6 : "", lines ? strlen (lines + 6) : 0, hash));
  ok (mm_checkpoint_digest ("run/step-00000100", again) == MM_OK && strcmp (hash, again) == 0,
      "its digest is that of MANIFEST's lines of hashes");
  ok (strncmp (text, "# minimind checkpoint 1\n# ", 26) == 0 && strstr (text, "  trainer.json\n"), "MANIFEST");
  free (text);
  ok (scratch_holds ("run/step-00000100/trainer.json", state_text, strlen (state_text)),
      "trainer.json");
  ok (save ("run", 100, "a", 3) == MM_OK && scratch_count ("run") == 2, "the same bytes again are no matter");
  ok (save ("run", 100, "b", 3) == MM_EEXIST && says ("step-00000100: exists and differs")
      && scratch_count ("run") == 2, "others are refused");
  ok (mm_checkpoint_digest ("run/step-00000100", hash) == MM_OK && strcmp (hash, again) == 0,
      "and what stood there stands");
  ok (save ("none/run", 1, "a", 3) == MM_EIO && !exists ("none"), "no run folder");
}

static void
test_load (void)
{
  struct mm_model *other;
  size_t n = mm_model_size (model), bytes = n * sizeof (float);
  float *x = malloc (bytes), *y = malloc (bytes), *z = malloc (bytes);
  struct mm_checkpoint c;

  must (mm_model_create (be, &small_configs[1], &other));
  ok (mm_checkpoint_load ("run/step-00000100", other, y, z, &c) == MM_OK && c.step == 100
      && strcmp (json_string_value (json_object_get (c.state, "note")), "a") == 0, "read back");
  json_decref (c.state);
  must (mm_backend_get (be, x, mm_model_values (other), bytes));
  ok (memcmp (x, values, bytes) == 0, "the parameters' bits");
  ok (memcmp (y, m, bytes) == 0 && memcmp (z, v, bytes) == 0, "the moments' bits");
  ok (mm_checkpoint_load ("run", other, y, z, &c) == MM_ENOENT && !c.state, "not a step folder");
  mm_model_free (other);
  must (mm_model_create (be, &small_configs[0], &other));
  ok (mm_checkpoint_load ("run/step-00000100", other, y, z, &c) < 0 && says ("run/step-00000100/model.safetensors"),
      "another model");
  mm_model_free (other);
  free (x);
  free (y);
  free (z);
}

/* Load the folder "copy" into a model of its shape.  */
static mm_status
load_copy (void)
{
  size_t n = mm_model_size (model);
  float *y = malloc (n * sizeof *y), *z = malloc (n * sizeof *z);
  struct mm_model *other;
  struct mm_checkpoint c;
  mm_status st;

  must (mm_model_create (be, &small_configs[1], &other));
  st = mm_checkpoint_load ("copy", other, y, z, &c);
  if (c.state)
    printf ("# a state although the status is %d\n", st);
  mm_model_free (other);
  free (y);
  free (z);
  return st;
}

/* The status of loading a copy whose file NAME holds TEXT, or is missing.  */
static mm_status
load_with (const char *name, const char *text)
{
  char path[100];

  if (system ("rm -rf copy && cp -R run/step-00000100 copy") != 0)
    exit (99);
  snprintf (path, sizeof path, "copy/%s", name);
  unlink (path);
  if (text)
    scratch_put (path, text, strlen (text));
  return load_copy ();
}

static void
test_load_damaged (void)
{
  struct mm_safetensors_writer *w;
  struct mm_model *wider;
  struct mm_model_config shape = small_configs[1];

  ok (load_with ("model.safetensors", NULL) == MM_ENOENT, "no model.safetensors");
  ok (load_with ("trainer.json", NULL) == MM_ENOENT && says ("trainer.json"), "no trainer.json");
  ok (load_with ("trainer.json", "{}") == MM_EFORMAT && says ("step"), "without a step");
  ok (load_with ("trainer.json", "{\"step\": -1}") == MM_EFORMAT, "a negative one");
  ok (load_with ("optimizer.safetensors", "x") == MM_EFORMAT, "a damaged optimizer");
  ok (load_with ("optimizer.safetensors", NULL) == MM_ENOENT && says ("optimizer.safetensors"), "no optimizer");
  /* Moments of a model whose ffn is wider by two.  */
  shape.ffn_size += 2;
  wider = small_model (be, &shape);
  must (mm_safetensors_create ("copy/optimizer.safetensors", false, false, &w));
  must (mm_model_declare (wider, "m.", w));
  must (mm_model_declare (wider, "v.", w));
  must (mm_model_write (wider, "m.", mm_model_values (wider), w));
  must (mm_model_write (wider, "v.", mm_model_values (wider), w));
  must (mm_safetensors_commit (w, NULL));
  mm_model_free (wider);
  ok (load_copy () == MM_ESHAPE && says ("shape is not that"), "moments of another shape");
  unlink ("copy/optimizer.safetensors");
  must (mm_safetensors_create ("copy/optimizer.safetensors", false, false, &w));
  must (mm_model_declare (model, "m.", w));
  must (mm_model_declare (model, "v.", w));
  must (mm_safetensors_declare (w, "extra", MM_U8, 1, (uint64_t[]) { 0 }));
  must (mm_model_write (model, "m.", m, w));
  must (mm_model_write (model, "v.", v, w));
  must (mm_safetensors_commit (w, NULL));
  ok (load_copy () == MM_EFORMAT && says ("want"), "a tensor too many");
}

static const char *const files[] = { "MANIFEST", "config.json", "generation_config.json", "model.safetensors",
                                     "optimizer.safetensors", "tokenizer.json", "tokenizer_config.json",
                                     "trainer.json" };

/* Change one bit at AT of PATH, twice gives what was.  */
static void
flip (const char *path, long at)
{
  int fd = open (path, O_RDWR);
  unsigned char byte;

  if (fd < 0 || pread (fd, &byte, 1, at) != 1)
    exit (99);
  byte ^= 4;
  if (pwrite (fd, &byte, 1, at) != 1 || close (fd) < 0)
    exit (99);
}

static void
test_verify (void)
{
  const char *dir = "run/step-00000100";
  char path[200], name[200];
  int good = 1;
  struct stat s;

  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    {
      snprintf (path, sizeof path, "%s/%s", dir, files[i]);
      stat (path, &s);
      for (int k = 0; k < 4; k++)
        {
          long at = (long) (s.st_size - 1) * k / 3;

          flip (path, at);
          if (mm_checkpoint_verify (dir) != MM_EFORMAT || !says (files[i]))
            {
              printf ("# byte %ld of %s: %s\n", at, files[i], mm_error_message ());
              good = 0;
            }
          flip (path, at);
        }
      snprintf (name, sizeof name, "%s.away", files[i]);
      rename (path, name);
      if (mm_checkpoint_verify (dir) != (i ? MM_EFORMAT : MM_ENOENT) || !says (files[i]))
        good = 0;
      rename (name, path);
    }
  ok (good, "a flipped bit and a missing file are found, whichever it is");
  ok (mm_checkpoint_verify (dir) == MM_OK, "put back, it verifies");
  snprintf (path, sizeof path, "%s/extra", dir);
  scratch_put (path, "x", 1);
  ok (mm_checkpoint_verify (dir) == MM_EFORMAT && says ("extra"), "a file too many");
  unlink (path);
  mkdir (path, 0777);
  ok (mm_checkpoint_verify (dir) == MM_EFORMAT && says ("extra"), "a folder too many");
  rmdir (path);
  snprintf (path, sizeof path, "%s/config.json", dir);
  rename (path, "config.json");
  ok (symlink ("../../config.json", path) == 0 && mm_checkpoint_verify (dir) == MM_EFORMAT
      && says ("config.json: is no regular file"), "a link in a file's place");
  unlink (path);
  mkdir (path, 0777);
  ok (mm_checkpoint_verify (dir) == MM_EFORMAT && says ("config.json"), "a folder in a file's place");
  rmdir (path);
  rename ("config.json", path);
  ok (truncate ("run/step-00000100/trainer.json", 5) == 0 && mm_checkpoint_verify (dir) == MM_EFORMAT
      && says ("has 5 bytes, want 33"), "a file cut off");
  scratch_put ("run/step-00000100/trainer.json", state_text, strlen (state_text));
  ok (mm_checkpoint_verify (dir) == MM_OK, "and it verifies again");
  ok (mm_checkpoint_verify ("no-run") == MM_ENOENT, "a missing folder");
}

static void
test_retention (void)
{
  mkdir ("keep", 0777);
  for (uint64_t step = 1; step <= 5; step++)
    must (save ("keep", step, "a", 0));
  ok (scratch_count ("keep") == 6, "without a limit all stay");
  ok (save ("keep", 6, "a", 2) == MM_OK && exists ("keep/step-00000005") && exists ("keep/step-00000006")
      && scratch_count ("keep") == 3, "two of six stay");
  unlink ("keep/step-00000006/trainer.json");
  mkdir ("keep/step-00000099", 0777);
  mkdir ("keep/step-7", 0777);
  ok (save ("keep", 7, "a", 2) == MM_OK && exists ("keep/step-00000005") && exists ("keep/step-7"),
      "incomplete ones do not count");
  ok (newest_is ("keep", "step-00000007"), "the newest valid one is found past an empty folder");
  flip ("keep/step-00000007/model.safetensors", 5000);
  ok (newest_is ("keep", "step-00000005"), "and past a damaged one");
  ok (save ("keep", 7, "a", 2) == MM_OK && exists ("keep/step-00000007.damaged")
      && newest_is ("keep", "step-00000007"), "which is moved aside when its step comes again");
  flip ("keep/step-00000007/model.safetensors", 5000);
  ok (save ("keep", 7, "a", 2) == MM_OK && exists ("keep/step-00000007.damaged"), "twice too");
}

static void
test_all_damaged (void)
{
  char *dir;

  mkdir ("bad", 0777);
  must (save ("bad", 1, "a", 0));
  flip ("bad/step-00000001/model.safetensors", 5000);
  ok (mm_checkpoint_newest ("bad", &dir) == MM_EFORMAT && says ("its only checkpoint is not valid") && !dir,
      "only damaged ones: an error, not a new start");
  ok (mm_model_folder ("bad", &dir) == MM_EFORMAT && !dir, "and no model to take");
  ok (mm_model_folder ("bad/step-00000001", &dir) == MM_OK && strcmp (dir, "bad/step-00000001") == 0,
      "but for who names the folder");
  free (dir);
}

static void
test_model_folder (void)
{
  char *dir;

  ok (mm_model_folder ("keep", &dir) == MM_OK && strcmp (dir, "keep/step-00000007") == 0, "a run folder");
  free (dir);
  ok (mm_model_folder ("keep/latest", &dir) == MM_OK && strcmp (dir, "keep/latest") == 0, "a link to a folder");
  free (dir);
  ok (mm_model_folder ("no-run", &dir) == MM_ENOENT && !dir, "missing");
  ok (mm_model_folder ("keep/LOCK", &dir) == MM_ENOENT, "a missing file");
  scratch_put ("file", "x", 1);
  ok (mm_model_folder ("file", &dir) == MM_EFORMAT && says ("file: is no folder"), "a file");
  mkdir ("nothing", 0777);
  ok (mm_model_folder ("nothing", &dir) == MM_EFORMAT && says ("config.json"), "a folder of neither kind");
  ok (mm_adapter_folder ("nothing", &dir) == MM_EFORMAT && says ("adapter_config.json"), "nor an adapter");
  ok (mm_adapter_folder ("keep", &dir) == MM_EFORMAT && !dir && says ("keep: a model folder, want an adapter"),
      "a run that trained a model, where an adapter is wanted");
  mkdir ("adapter", 0777);
  scratch_put ("adapter/adapter_config.json", "{}", 2);
  ok (mm_adapter_folder ("adapter", &dir) == MM_OK && strcmp (dir, "adapter") == 0, "an adapter");
  free (dir);
  ok (mm_model_folder ("adapter", &dir) == MM_EFORMAT && !dir && says ("minimind-lora-merge"),
      "is no model: what can be done is told");
  ok (mm_checkpoint_folder ("adapter", &dir) == MM_OK, "either is fine for who takes both");
  free (dir);
}

/* Save step 2 in a child whose files may not be larger than LIMIT; killed by the signal or, where that is
   ignored, told by the call.  */
static int
save_limited (rlim_t limit, bool killed)
{
  int status;
  pid_t pid = fork ();

  if (pid == 0)
    {
      struct rlimit r = { limit, limit };

      signal (SIGXFSZ, killed ? SIG_DFL : SIG_IGN);
      setrlimit (RLIMIT_CORE, &(struct rlimit) { 0, 0 });
      setrlimit (RLIMIT_FSIZE, &r);
      _exit (save ("full", 2, "a", 1) == MM_EIO ? 0 : 1);
    }
  waitpid (pid, &status, 0);
  return killed ? WIFSIGNALED (status) && WTERMSIG (status) == SIGXFSZ : status == 0;
}

static void
test_full_and_killed (void)
{
  struct mm_run_lock *lock = NULL;
  struct stat model_file, optimizer_file, tokenizer_file;

  mkdir ("full", 0777);
  must (save ("full", 1, "a", 1));
  stat ("full/step-00000001/model.safetensors", &model_file);
  stat ("full/step-00000001/optimizer.safetensors", &optimizer_file);
  stat ("full/step-00000001/tokenizer.json", &tokenizer_file);
  const rlim_t limits[] = { 100, (rlim_t) model_file.st_size - 1, (rlim_t) model_file.st_size,
                            (rlim_t) optimizer_file.st_size - 1 };

  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    {
      int before = scratch_count ("full");

      ok (save_limited (limits[i], false) && scratch_count ("full") == before, "no room: nothing is left");
      ok (newest_is ("full", "step-00000001"), "the older one stands");
      ok (save_limited (limits[i], true) && newest_is ("full", "step-00000001"), "killed, the same");
    }
  ok (scratch_count ("full") > 2 && mm_run_lock_take ("full", &lock) == MM_OK && scratch_count ("full") == 3,
      "the next run removes what the killed ones left");
  ok (save ("full", 2, "a", 1) == MM_OK && newest_is ("full", "step-00000002")
      && !exists ("full/step-00000001"), "and saves");
  mm_run_lock_release (lock);
}

int
main (void)
{
  scratch_enter ();
  make_model ();
  test_lock ();
  test_save ();
  test_load ();
  test_load_damaged ();
  test_verify ();
  test_retention ();
  test_all_damaged ();
  test_model_folder ();
  test_full_and_killed ();
  mm_model_free (model);
  mm_tokenizer_free (tokenizer);
  mm_backend_close (be);
  free (values);
  free (m);
  free (v);
  return tap_done ();
}
