/* model.c -- safetensors files and the folders made of them, of models and adapters.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/files.h>
#include <minimind/json.h>
#include <minimind/log.h>
#include <minimind/model_config.h>

#include "describe.h"

enum { JSON_LIMIT = 64 << 20 };

static json_t *
describe_tensor (const struct mm_tensor *t)
{
  json_t *shape = json_array ();

  for (int i = 0; i < t->n_dims; i++)
    json_array_append_new (shape, json_integer ((json_int_t) t->shape[i]));
  return json_pack ("{s:s, s:s, s:o, s:I}", "name", t->name, "dtype", mm_dtype_name (t->dtype), "shape", shape,
                    "bytes", (json_int_t) t->size);
}

/* The tensors of FILE into the array TENSORS; *ELEMENTS grows by theirs.  */
static mm_status
add_tensors (const struct mm_safetensors *file, bool stats, json_t *tensors, uint64_t *elements)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < mm_safetensors_count (file); i++)
    {
      const struct mm_tensor *t = mm_safetensors_at (file, i);
      json_t *d = describe_tensor (t);

      *elements += tensor_elements (t);
      if (stats)
        st = stats_add (file, t, d);
      json_array_append_new (tensors, d);
    }
  return st;
}

static json_t *
describe_metadata (const struct mm_safetensors *file)
{
  json_t *meta = json_object ();
  const char *key, *value;

  for (size_t i = 0; mm_safetensors_meta_at (file, i, &key, &value); i++)
    json_object_set_new (meta, key, json_string (value));
  return meta;
}

mm_status
describe_safetensors (const char *path, const struct inspect_config *c, json_t *d)
{
  struct mm_safetensors *file;
  json_t *tensors = json_array ();
  uint64_t elements = 0;
  mm_status st = mm_safetensors_open (path, &file);

  if (st == MM_OK)
    st = add_tensors (file, c->stats, tensors, &elements);
  if (st == MM_OK)
    {
      json_object_set_new (d, "metadata", describe_metadata (file));
      json_object_set_new (d, "elements", json_integer ((json_int_t) elements));
      json_object_set (d, "tensors", tensors);
    }
  mm_safetensors_close (file);
  json_decref (tensors);
  return st;
}

/* DIR/NAME as D's field KEY, if the file is there.  */
static mm_status
add_json (const char *dir, const char *name, const char *key, json_t *d)
{
  char *path = mm_path_join (dir, name);
  json_t *value = NULL;
  mm_status st = path ? mm_json_read (path, JSON_LIMIT, &value) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  if (st == MM_OK)
    json_object_set_new (d, key, value);
  free (path);
  return st == MM_ENOENT ? MM_OK : st;
}

/* Parameters of the model, counted by its configuration; what this suite cannot run is shown without.  */
static mm_status
add_parameters (const char *dir, json_t *d)
{
  struct mm_model_config config;
  char *path = mm_path_join (dir, "config.json");
  mm_status st = path ? mm_config_read (path, &config) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  free (path);
  if (st == MM_OK)
    json_object_set_new (d, "parameters", json_integer ((json_int_t) mm_config_parameters (&config)));
  else if (st == MM_EUNSUP)
    mm_warn ("%s", mm_error_message ());
  return st == MM_EUNSUP ? MM_OK : st;
}

/* Each *.safetensors file of DIR as an object in "files".  */
static mm_status
add_files (const char *dir, const struct inspect_config *c, json_t *d)
{
  json_t *files = json_array ();
  char **names;
  size_t n;
  mm_status st = names_list (dir, "", ".safetensors", false, &names, &n);

  if (st == MM_OK && n == 0)
    mm_warn ("%s: holds no weights (*.safetensors)", dir);
  for (size_t i = 0; st == MM_OK && i < n; i++)
    {
      char *path = mm_path_join (dir, names[i]);
      json_t *file = json_pack ("{s:s}", "file", names[i]);

      st = path ? describe_safetensors (path, c, file) : mm_fail (MM_ENOMEM, "%s: no memory", dir);
      json_array_append_new (files, file);
      free (path);
    }
  names_free (names, n);
  json_object_set_new (d, "files", files);
  return st;
}

mm_status
describe_model (const char *path, const struct inspect_config *c, json_t *d)
{
  mm_status st = add_parameters (path, d);

  if (st == MM_OK)
    st = add_json (path, "config.json", "configuration", d);
  if (st == MM_OK)
    st = add_json (path, "trainer.json", "trainer", d);
  return st < 0 ? st : add_files (path, c, d);
}

/* Parameters of the adapter, as many as its tensors have elements.  */
static mm_status
add_adapter_parameters (const char *dir, json_t *d)
{
  struct mm_safetensors *file = NULL;
  char *path = mm_path_join (dir, "adapter_model.safetensors");
  uint64_t elements = 0;
  mm_status st = path ? mm_safetensors_open (path, &file) : mm_fail (MM_ENOMEM, "%s: no memory", dir);

  for (size_t i = 0; st == MM_OK && i < mm_safetensors_count (file); i++)
    elements += tensor_elements (mm_safetensors_at (file, i));
  if (st == MM_OK)
    json_object_set_new (d, "parameters", json_integer ((json_int_t) elements));
  mm_safetensors_close (file);
  free (path);
  return st == MM_ENOENT ? MM_OK : st;
}

mm_status
describe_adapter (const char *path, const struct inspect_config *c, json_t *d)
{
  mm_status st = add_adapter_parameters (path, d);

  if (st == MM_OK)
    st = add_json (path, "adapter_config.json", "configuration", d);
  if (st == MM_OK)
    st = add_json (path, "trainer.json", "trainer", d);
  return st < 0 ? st : add_files (path, c, d);
}
