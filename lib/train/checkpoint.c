/* checkpoint.c -- write a step folder and publish it; read one back.
   SPDX-License-Identifier: Apache-2.0

   The order of a save, each step synced before the next: files in a hidden folder, MANIFEST last, the folder,
   its rename (from here on it exists), the link `latest', the contents read back; only then do old ones go.
   A kill at any moment leaves the older checkpoints and perhaps a hidden folder, which the next run removes.  */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minimind/checkpoint.h>
#include <minimind/files.h>
#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/lora.h>
#include <minimind/safetensors.h>

#include "manifest.h"
#include "run_folder.h"

enum { STATE_LIMIT = 16 << 20 };        /* bytes of trainer.json */

/* What a save was asked for.  */
struct contents
{
  const struct mm_checkpoint *c;
  const struct mm_model *model;
  const float *values, *m, *v;
  const struct mm_tokenizer *t;
};

/* ---- files ---- */

static mm_status
write_text (const char *dir, const char *name, const char *text, size_t size)
{
  char *path = mm_path_join (dir, name);
  mm_status st = path ? mm_write_file (path, text, size) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  free (path);
  return st;
}

/* config.json and generation_config.json.  */
static mm_status
write_configs (const char *dir, const struct mm_model *model)
{
  char *config = NULL, *generation = NULL;
  mm_status st = mm_config_text (mm_model_config (model), MM_F32, &config, &generation);

  if (st == MM_OK)
    st = write_text (dir, "config.json", config, strlen (config));
  if (st == MM_OK)
    st = write_text (dir, "generation_config.json", generation, strlen (generation));
  free (config);
  free (generation);
  return st;
}

/* trainer.json and the tokenizer's files.  */
static mm_status
write_texts (const char *dir, const struct contents *x)
{
  char *state = NULL;
  const char *json, *json_config;
  size_t json_size, json_config_size;
  mm_status st = mm_json_text (x->c->state, true, &state);

  mm_tokenizer_files (x->t, &json, &json_size, &json_config, &json_config_size);
  if (st == MM_OK)
    st = write_text (dir, "trainer.json", state, strlen (state));
  if (st == MM_OK)
    st = write_text (dir, "tokenizer.json", json, json_size);
  if (st == MM_OK && json_config)
    st = write_text (dir, "tokenizer_config.json", json_config, json_config_size);
  free (state);
  return st;
}

/* DIR/NAME with N flat buffers, each under its prefix.  */
static mm_status
write_tensors (const char *dir, const char *name, const struct mm_model *model, size_t n,
               const char *const *prefixes, const float *const *buffers)
{
  char *path = mm_path_join (dir, name);
  struct mm_safetensors_writer *w = NULL;
  mm_status st = path ? mm_safetensors_create (path, false, false, &w) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  free (path);
  for (size_t i = 0; st == MM_OK && i < n; i++)
    st = mm_model_declare (model, prefixes[i], w);
  for (size_t i = 0; st == MM_OK && i < n; i++)
    st = mm_model_write (model, prefixes[i], buffers[i], w);
  if (st == MM_OK)
    return mm_safetensors_commit (w, NULL);
  mm_safetensors_abort (w);
  return st;
}

static const char *const moment_prefixes[] = { "m.", "v." };

static mm_status
write_manifest (const char *dir)
{
  struct mm_manifest m;
  char *text = NULL;
  mm_status st = mm_manifest_scan (dir, true, &m);

  if (st == MM_OK)
    st = mm_manifest_text (&m, false, &text);
  if (st == MM_OK)
    st = write_text (dir, MM_MANIFEST, text, strlen (text));
  free (text);
  mm_manifest_free (&m);
  return st;
}

/* The model, or its adapter, as others read it.  */
static mm_status
write_trained (const char *dir, const struct contents *x)
{
  mm_status st;

  if (mm_lora_attached (x->model))
    return mm_adapter_write (x->model, x->values, x->c->base_sha256, dir);
  st = write_tensors (dir, "model.safetensors", x->model, 1, (const char *[]) { "" }, &x->values);
  return st < 0 ? st : write_configs (dir, x->model);
}

static mm_status
write_folder (const char *dir, const struct contents *x)
{
  const float *moments[] = { x->m, x->v };
  mm_status st = write_trained (dir, x);

  if (st == MM_OK)
    st = write_tensors (dir, "optimizer.safetensors", x->model, 2, moment_prefixes, moments);
  if (st == MM_OK)
    st = write_texts (dir, x);
  return st < 0 ? st : write_manifest (dir);
}

/* ---- publishing ---- */

/* Write X as a hidden folder and let it become PATH.  */
static mm_status
publish (const char *path, const struct contents *x)
{
  struct mm_output_dir *out;
  const char *temp;
  mm_status st = mm_output_dir_open (path, false, &out, &temp);

  if (st < 0)
    return st;
  st = write_folder (temp, x);
  if (st == MM_OK)
    return mm_output_dir_commit (out);
  mm_output_dir_abort (out);
  return st;
}

/* A valid folder stands at PATH: see that X would be the same bytes.  */
static mm_status
compare_existing (const char *path, const struct contents *x)
{
  struct mm_output_dir *out;
  const char *temp;
  char here[MM_SHA256_TEXT], there[MM_SHA256_TEXT], *other = NULL;
  mm_status st = asprintf (&other, "%s.again", path) < 0 ? mm_fail (MM_ENOMEM, "%s: no memory", path)
                                                         : mm_output_dir_open (other, false, &out, &temp);

  if (st < 0)
    {
      free (other);
      return st;
    }
  st = write_folder (temp, x);
  if (st == MM_OK)
    st = mm_checkpoint_digest (temp, here);
  if (st == MM_OK)
    st = mm_checkpoint_digest (path, there);
  if (st == MM_OK && strcmp (here, there) != 0)
    st = mm_fail (MM_EEXIST, "%s: exists and differs from what is to be saved; remove it or take another "
                  "run folder", path);
  mm_output_dir_abort (out);
  free (other);
  return st;
}

/* A damaged folder stands at PATH: move it to PATH.damaged, for people to look at.  */
static mm_status
move_aside (const char *path)
{
  char *aside = NULL;
  struct stat s;
  mm_status st = asprintf (&aside, "%s.damaged", path) < 0 ? mm_fail (MM_ENOMEM, "%s: no memory", path) : MM_OK;

  if (st == MM_OK && lstat (aside, &s) == 0)
    st = mm_remove_tree (aside);
  if (st == MM_OK && rename (path, aside) < 0)
    st = mm_fail_errno (path);
  if (st == MM_OK)
    mm_warn ("%s: damaged, moved to %s", path, aside);
  free (aside);
  return st;
}

/* Let OUT/latest name STEP.  A hint for people and scripts, which some file systems cannot hold.  */
static void
point_latest (const char *out, uint64_t step)
{
  char target[40], *temp = NULL, *latest = mm_path_join (out, "latest");

  snprintf (target, sizeof target, "step-%08" PRIu64, step);
  if (asprintf (&temp, "%s/.latest.%ld.tmp", out, (long) getpid ()) < 0)
    temp = NULL;
  if (latest && temp)
    {
      unlink (temp);
      if (symlink (target, temp) < 0 || rename (temp, latest) < 0)
        {
          mm_warn ("%s: cannot be made to point to %s: %s", latest, target, strerror (errno));
          unlink (temp);
        }
      else if (mm_sync_dir (out) < 0)
        mm_warn ("%s", mm_error_message ());
    }
  free (temp);
  free (latest);
}

/* Ask that the files of DIR be read from the disk next time, not from memory.  */
static void
forget_cached (const char *dir)
{
  struct mm_manifest m;

  if (mm_manifest_scan (dir, false, &m) < 0)
    return;
  for (size_t i = 0; i < m.count; i++)
    {
      char *path = mm_path_join (dir, m.entries[i].name);
      int fd = path ? open (path, O_RDONLY | O_CLOEXEC) : -1;

      if (fd >= 0)
        {
          posix_fadvise (fd, 0, 0, POSIX_FADV_DONTNEED);
          close (fd);
        }
      free (path);
    }
  mm_manifest_free (&m);
}

mm_status
mm_checkpoint_save (const char *out, const struct mm_checkpoint *c, const struct mm_model *model,
                    const float *values, const float *m, const float *v, const struct mm_tokenizer *t, int keep)
{
  struct contents x = { c, model, values, m, v, t };
  struct stat s;
  char *path;
  mm_status st = mm_run_step_path (out, c->step, &path);

  if (st < 0)
    return st;
  if (lstat (path, &s) < 0)
    st = publish (path, &x);
  else if (mm_checkpoint_verify (path) == MM_OK)
    st = compare_existing (path, &x);
  else
    {
      st = move_aside (path);
      if (st == MM_OK)
        st = publish (path, &x);
    }
  if (st == MM_OK)
    {
      point_latest (out, c->step);
      forget_cached (path);
      if (mm_checkpoint_verify (path) < 0)
        st = mm_fail_prefix (MM_EIO, "just written, read back with a difference");
    }
  free (path);
  /* Files that vanish while they are written are no missing input.  */
  if (st == MM_ENOENT)
    st = MM_EIO;
  if (st == MM_OK && mm_run_retain (out, keep) < 0)
    mm_warn ("old checkpoints stay: %s", mm_error_message ());
  return st;
}

/* ---- reading ---- */

/* The moment with PREFIX into BUFFER.  */
static mm_status
read_moment (const struct mm_safetensors *file, const struct mm_model *model, const char *prefix, float *buffer)
{
  struct mm_params trained = mm_model_trained (model);
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < trained.count; i++)
    {
      const struct mm_param *p = &trained.param[i];
      const struct mm_tensor *t;
      char name[128];

      snprintf (name, sizeof name, "%s%s", prefix, p->name);
      st = mm_safetensors_want (file, name, MM_F32, p->n_dims, &t);
      if (st == MM_OK && (t->shape[p->n_dims - 1] != p->cols || (p->n_dims == 2 && t->shape[0] != p->rows)))
        st = mm_fail (MM_ESHAPE, "%s: %s: shape is not that of the model's parameter",
                      mm_safetensors_path (file), name);
      if (st == MM_OK)
        st = mm_safetensors_read_f32 (file, t, buffer + p->offset);
    }
  return st;
}

/* Open DIR/NAME.  */
static mm_status
open_file (const char *dir, const char *name, struct mm_safetensors **file)
{
  char *path = mm_path_join (dir, name);
  mm_status st = path ? mm_safetensors_open (path, file) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  free (path);
  return st;
}

static mm_status
read_optimizer (const char *dir, const struct mm_model *model, float *m, float *v)
{
  struct mm_safetensors *file = NULL;
  size_t want = 2 * mm_model_trained (model).count;
  mm_status st = open_file (dir, "optimizer.safetensors", &file);

  if (st == MM_OK)
    st = read_moment (file, model, moment_prefixes[0], m);
  if (st == MM_OK)
    st = read_moment (file, model, moment_prefixes[1], v);
  if (st == MM_OK && mm_safetensors_count (file) != want)
    st = mm_fail (MM_EFORMAT, "%s: has %s, want %zu", mm_safetensors_path (file),
                  MM_COUNT (mm_safetensors_count (file), "tensor"), want);
  mm_safetensors_close (file);
  return st;
}

static mm_status
read_state (const char *dir, struct mm_checkpoint *c)
{
  char *path = mm_path_join (dir, "trainer.json");
  int64_t step = 0;
  mm_status st = path ? mm_json_read (path, STATE_LIMIT, &c->state) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  if (st == MM_OK)
    st = mm_json_integer (path, c->state, "step", true, 0, INT64_MAX, &step);
  c->step = (uint64_t) step;
  free (path);
  return st;
}

/* The model's parameters, or its adapter's.  */
static mm_status
read_trained (const char *dir, struct mm_model *model)
{
  struct mm_safetensors *file = NULL;
  struct mm_adapter *a = NULL;
  mm_status st;

  if (mm_lora_attached (model))
    {
      st = mm_adapter_open (dir, mm_model_config (model), &a);
      if (st == MM_OK)
        st = mm_adapter_put (a, model);
      mm_adapter_close (a);
      return st;
    }
  st = open_file (dir, "model.safetensors", &file);
  if (st == MM_OK)
    st = mm_model_read (model, file);
  mm_safetensors_close (file);
  return st;
}

mm_status
mm_checkpoint_load (const char *dir, struct mm_model *model, float *m, float *v, struct mm_checkpoint *c)
{
  mm_status st;

  *c = (struct mm_checkpoint) { .state = NULL };
  st = read_trained (dir, model);
  if (st == MM_OK)
    st = read_optimizer (dir, model, m, v);
  if (st == MM_OK)
    st = read_state (dir, c);
  if (st < 0)
    {
      json_decref (c->state);
      c->state = NULL;
    }
  return st;
}
