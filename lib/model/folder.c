/* folder.c -- opening a HuggingFace model folder: one file of weights, or shards with an index.
   SPDX-License-Identifier: Apache-2.0

   Source: huggingface_hub, serialization/_base.py.  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/json.h>

#include "impl.h"

enum { INDEX_LIMIT = 64 << 20 };        /* bytes; a few hundred thousand tensors */

/* The files of weights; a single one has neither an index nor a name here.  */
struct shards
{
  const char *path;             /* of the index, or of the one file */
  json_t *index;
  const json_t *map;            /* tensor -> file */
  const char **name;            /* distinct files, ascending */
  struct mm_safetensors **file;
  size_t count;
};

static void
shards_close (struct shards *s)
{
  for (size_t i = 0; s->file && i < s->count; i++)
    mm_safetensors_close (s->file[i]);
  free (s->file);
  free (s->name);
  json_decref (s->index);
}

static int
compare_names (const void *a, const void *b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* Collect the files that the index names; they must lie in the folder itself.  */
static mm_status
list_files (struct shards *s)
{
  const char *tensor;
  json_t *value;
  size_t n = 0;
  mm_status st = mm_alloc ("list of shards", json_object_size (s->map), sizeof *s->name, &s->name);

  if (st < 0)
    return st;
  json_object_foreach ((json_t *) s->map, tensor, value)
    {
      const char *name = json_string_value (value);

      if (!name || !*name || strchr (name, '/') || !strcmp (name, "..") || !strcmp (name, "."))
        return mm_fail (MM_EFORMAT,
                        "%s: weight_map: %s: want the name of a file in this folder, found %s",
                        s->path, tensor, name ? name : "no string");
      s->name[n++] = name;
    }
  if (n == 0)
    return mm_fail (MM_EFORMAT, "%s: weight_map: want an object that names tensors", s->path);
  qsort (s->name, n, sizeof *s->name, compare_names);
  for (size_t i = 0; i < n; i++)
    if (s->count == 0 || strcmp (s->name[s->count - 1], s->name[i]))
      s->name[s->count++] = s->name[i];
  return mm_alloc ("list of shards", s->count, sizeof *s->file, &s->file);
}

static mm_status
open_files (const char *dir, struct shards *s)
{
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < s->count; i++)
    {
      char *path = mm_path_join (dir, s->name[i]);

      st = path ? mm_safetensors_open (path, &s->file[i])
                : mm_fail (MM_ENOMEM, "%s: out of memory", s->name[i]);
      free (path);
    }
  return st;
}

/* Each tensor of the shards must stand where the index names it; *FOUND counts them.  */
static mm_status
check_shards (const struct shards *s, size_t *found)
{
  for (size_t i = 0; i < s->count; i++)
    for (size_t k = 0; k < mm_safetensors_count (s->file[i]); k++)
      {
        const char *tensor = mm_safetensors_at (s->file[i], k)->name;
        const char *want = json_string_value (json_object_get (s->map, tensor));

        if (!want || strcmp (want, s->name[i]))
          return mm_fail (MM_EFORMAT, "%s: %s stands in %s, but the index says %s", s->path, tensor,
                          s->name[i], want ? want : "nothing of it");
        ++*found;
      }
  return MM_OK;
}

/* The shard called NAME.  */
static const struct mm_safetensors *
shard (const struct shards *s, const char *name)
{
  const char **at = bsearch (&name, s->name, s->count, sizeof *s->name, compare_names);

  return s->file[at - s->name];
}

/* Index and shards must name the same tensors in the same places.  */
static mm_status
check_places (const struct shards *s)
{
  const char *tensor;
  json_t *name;
  size_t found = 0;
  mm_status st = check_shards (s, &found);

  if (st < 0 || found == json_object_size (s->map))
    return st;
  json_object_foreach ((json_t *) s->map, tensor, name)
    {
      if (!mm_safetensors_find (shard (s, json_string_value (name)), tensor))
        return mm_fail (MM_EFORMAT, "%s: %s is not in %s, where the index says it is", s->path,
                        tensor, json_string_value (name));
    }
  return MM_OK;
}

static mm_status
open_shards (const char *dir, struct shards *s)
{
  mm_status st = mm_json_read (s->path, INDEX_LIMIT, &s->index);

  if (st < 0)
    return st;
  s->map = json_object_get (s->index, "weight_map");
  st = list_files (s);
  if (st == MM_OK)
    st = open_files (dir, s);
  return st < 0 ? st : check_places (s);
}

/* model.safetensors, or if there is none the shards.  */
static mm_status
open_weights (const char *dir, const char *single, const char *index, struct shards *s)
{
  struct mm_safetensors *file;
  bool there;
  mm_status st = mm_safetensors_open (single, &file);

  if (st == MM_OK)
    {
      st = mm_alloc ("list of shards", 1, sizeof *s->file, &s->file);
      if (st < 0)
        {
          mm_safetensors_close (file);
          return st;
        }
      s->file[s->count++] = file;
      s->path = single;
      return MM_OK;
    }
  if (st != MM_ENOENT)
    return st;
  st = mm_path_exists (index, &there);
  if (st < 0)
    return st;
  if (!there)
    return mm_fail (MM_ENOENT,
                    "%s: holds neither model.safetensors nor model.safetensors.index.json", dir);
  s->path = index;
  return open_shards (dir, s);
}

/* The files are held against the configuration before memory is taken: a config.json can claim any
   size, a file of weights must have it.  */
static mm_status
create_and_read (struct mm_backend *be, const struct mm_model_config *c, const struct shards *s,
                 struct mm_model **out)
{
  const struct mm_weight_files f
    = { s->path, (const struct mm_safetensors *const *) s->file, s->count };
  struct mm_model *m;
  mm_status st = mm_model_tables (be, c, &m);

  if (st < 0)
    return st;
  st = mm_model_check_files (m, &f);
  if (st == MM_OK)
    st = mm_model_allocate (m);
  if (st == MM_OK)
    st = mm_model_read_files (m, &f);
  if (st < 0)
    mm_model_free (m);
  else
    *out = m;
  return st;
}

mm_status
mm_model_open (struct mm_backend *be, const char *dir, struct mm_model **m)
{
  char *config = mm_path_join (dir, "config.json");
  char *single = mm_path_join (dir, "model.safetensors");
  char *index = mm_path_join (dir, "model.safetensors.index.json");
  struct shards s = { .count = 0 };
  struct mm_model_config c;
  mm_status st = config && single && index ? mm_config_read (config, &c)
                                           : mm_fail (MM_ENOMEM, "%s: out of memory", dir);

  *m = NULL;
  if (st == MM_OK)
    st = open_weights (dir, single, index, &s);
  if (st == MM_OK)
    st = create_and_read (be, &c, &s, m);
  shards_close (&s);
  free (config);
  free (single);
  free (index);
  return st;
}
