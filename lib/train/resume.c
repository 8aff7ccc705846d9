/* resume.c -- find the checkpoint to go on from, compare it with this run, read it.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/checkpoint.h>
#include <minimind/files.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/memory.h>

#include "trainer.h"

/* The step folder that --resume asks for, a new string; NULL: start anew.  */
static mm_status
find_checkpoint (const struct mm_train_config *c, char **dir)
{
  mm_status st;

  *dir = NULL;
  if (strcmp (c->resume, "auto") == 0)
    return mm_checkpoint_newest (c->output, dir);
  if (strcmp (c->resume, "never") != 0)
    {
      st = mm_model_folder (c->resume, dir);
      return st == MM_OK ? mm_checkpoint_verify (*dir) : st;
    }
  st = mm_checkpoint_newest (c->output, dir);
  if (st == MM_OK && *dir)
    st = mm_fail (MM_EEXIST, "%s: this checkpoint is there already, which --resume=never would overwrite: give another"
                  " --output, or leave --resume out to go on from it", *dir);
  free (*dir);
  *dir = NULL;
  return st;
}

/* SHAPE as a JSON object of config.json's fields.  */
static mm_status
shape_object (const struct mm_model_config *shape, json_t **object)
{
  char *config = NULL, *generation = NULL;
  mm_status st = mm_config_text (shape, MM_F32, &config, &generation);

  *object = NULL;
  if (st == MM_OK)
    st = mm_json_parse ("config.json", config, strlen (config), object);
  free (config);
  free (generation);
  return st;
}

/* Name the first field of config.json that differs.  */
static mm_status
compare_shapes (const char *path, const struct mm_model_config *found, const struct mm_model_config *want)
{
  json_t *there = NULL, *here = NULL, *value;
  const char *key;
  mm_status st = shape_object (found, &there);

  if (st == MM_OK)
    st = shape_object (want, &here);
  json_object_foreach (here, key, value)
    if (st == MM_OK && !json_equal (value, json_object_get (there, key)))
      {
        char *a = json_dumps (value, JSON_ENCODE_ANY);
        char *b = json_dumps (json_object_get (there, key), JSON_ENCODE_ANY);

        st = mm_fail (MM_ECONFLICT, "%s: the checkpoint is of another model: %s: want %.80s, found %.80s"
                      " (another --output begins anew)", path, key, a ? a : "?", b ? b : "absent");
        free (a);
        free (b);
      }
  json_decref (there);
  json_decref (here);
  return st;
}

/* The model of the checkpoint is the one that the command line asks for.  */
static mm_status
check_model (const char *dir, const struct mm_model_config *want)
{
  struct mm_model_config found;
  char *path = mm_path_join (dir, "config.json");
  mm_status st = path ? mm_config_read (path, &found) : mm_fail (MM_ENOMEM, "%s: out of memory", dir);

  if (st == MM_OK)
    st = compare_shapes (path, &found, want);
  free (path);
  return st;
}

static mm_status
check_settings (struct mm_trainer *t, const char *dir)
{
  char *path = mm_path_join (dir, "trainer.json");
  json_t *object = NULL;
  mm_status st = path ? mm_json_read (path, 1 << 20, &object) : mm_fail (MM_ENOMEM, "%s: out of memory", dir);

  if (st == MM_OK)
    st = mm_state_read (path, object, &t->plan, t->settings, t->config->accept, &t->state);
  json_decref (object);
  free (path);
  return st;
}

mm_status
mm_trainer_find_checkpoint (struct mm_trainer *t, char **dir)
{
  mm_status st = find_checkpoint (t->config, dir);

  if (st == MM_OK && *dir)
    st = check_model (*dir, &t->shape);
  if (st == MM_OK && *dir)
    st = check_settings (t, *dir);
  if (st < 0)
    {
      free (*dir);
      *dir = NULL;
    }
  return st;
}

/* The moments go where the host may write: into the device's memory itself, or through BUFFER.  */
mm_status
mm_trainer_load (struct mm_trainer *t, const char *dir)
{
  struct mm_optimizer *o = &t->optimizer;
  size_t n = mm_model_size (t->model);
  float *m = mm_backend_host (t->backend, o->m), *v = mm_backend_host (t->backend, o->v);
  float *buffer = NULL;
  struct mm_checkpoint c = { 0 };
  mm_status st = MM_OK;

  if (!m || !v)
    {
      st = mm_alloc ("moments on the host", n, 2 * sizeof *buffer, &buffer);
      m = buffer;
      v = buffer ? buffer + n : NULL;
    }
  if (st == MM_OK)
    st = mm_checkpoint_load (dir, t->model, m, v, &c);
  json_decref (c.state);
  if (st == MM_OK && buffer)
    st = mm_backend_put (t->backend, o->m, m, n * sizeof *m);
  if (st == MM_OK && buffer)
    st = mm_backend_put (t->backend, o->v, v, n * sizeof *v);
  free (buffer);
  o->updates = t->state.updates;
  return st;
}
