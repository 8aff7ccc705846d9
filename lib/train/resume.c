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
      st = mm_checkpoint_folder (c->resume, dir);
      if (st < 0)
        return st;
      st = mm_checkpoint_verify (*dir);
      return st == MM_ENOENT ? mm_fail_prefix (MM_EFORMAT, "%s: is no complete checkpoint", *dir) : st;
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

/* The checkpoint holds what is to be trained: the model that the command line asks for, or an adapter, whose settings
   tell of which.  */
static mm_status
check_model (const char *dir, const struct mm_trainer *t)
{
  struct mm_model_config found;
  char *path = mm_path_join (dir, "config.json");
  bool whole = false, want_whole = t->lora.parameters == 0;
  mm_status st = path ? mm_path_exists (path, &whole) : mm_fail (MM_ENOMEM, "%s: out of memory", dir);

  if (st == MM_OK && whole != want_whole)
    st = mm_fail (MM_ECONFLICT, "%s: the checkpoint is of %s, want %s (another --output begins anew)", dir,
                  whole ? "a whole model" : "a LoRA adapter", want_whole ? "a whole model" : "an adapter");
  if (st == MM_OK && whole)
    st = mm_config_read (path, &found);
  if (st == MM_OK && whole)
    st = compare_shapes (path, &found, &t->shape);
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
    st = check_model (*dir, t);
  if (st == MM_OK && *dir)
    st = check_settings (t, *dir);
  if (st < 0)
    {
      free (*dir);
      *dir = NULL;
    }
  return st;
}

/* Rank 0's values and moments into W on all ranks.  */
static mm_status
share_state (struct mm_trainer *t, struct mm_whole *w)
{
  size_t bytes = mm_model_trained (t->model).size * sizeof *w->values;
  mm_status st = mm_comm_broadcast (t->comm, w->values, bytes, 0);

  if (st == MM_OK)
    st = mm_comm_broadcast (t->comm, w->m, bytes, 0);
  return st == MM_OK ? mm_comm_broadcast (t->comm, w->v, bytes, 0) : st;
}

mm_status
mm_trainer_load (struct mm_trainer *t, const char *dir)
{
  struct mm_checkpoint c = { 0 };
  struct mm_whole w;
  mm_status st = mm_whole_open (t, &w), closed;

  if (st == MM_OK && mm_comm_rank (t->comm) == 0)
    {
      st = mm_checkpoint_load (dir, t->model, w.m, w.v, &c);
      if (st == MM_OK && w.copy)
        st = mm_backend_get (t->backend, w.values, mm_model_trained (t->model).values,
                             mm_model_trained (t->model).size * sizeof *w.values);
      json_decref (c.state);
    }
  st = mm_comm_agree (t->comm, st);
  if (st == MM_OK)
    st = share_state (t, &w);
  if (st == MM_OK)
    st = mm_whole_put (t, &w);
  if (st == MM_OK && mm_comm_rank (t->comm) > 0)
    st = mm_model_refresh_trained (t->model);
  closed = mm_whole_close (t, &w);
  t->optimizer.updates = t->state.updates;
  return mm_comm_agree (t->comm, st < 0 ? st : closed);
}
