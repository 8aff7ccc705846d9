/* folder.c -- read a model folder and write it again: the helper of folder.py.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/cli.h>
#include <minimind/files.h>
#include <minimind/model.h>

static mm_status
write_text (const char *dir, const char *name, const char *text)
{
  char *path = mm_path_join (dir, name);
  mm_status st
    = path ? mm_write_file (path, text, strlen (text)) : mm_fail (MM_ENOMEM, "no memory");

  free (path);
  return st;
}

static mm_status
write_weights (const char *dir, struct mm_model *m)
{
  size_t bytes = mm_model_size (m) * sizeof (float);
  char *path = mm_path_join (dir, "model.safetensors");
  float *values = malloc (bytes);
  struct mm_safetensors_writer *w;
  mm_status st = path && values
                   ? mm_backend_get (mm_model_backend (m), values, mm_model_values (m), bytes)
                   : mm_fail (MM_ENOMEM, "no memory");

  if (st == MM_OK)
    st = mm_safetensors_create (path, false, false, &w);
  if (st == MM_OK)
    {
      st = mm_model_declare (m, "", w);
      if (st == MM_OK)
        st = mm_model_write (m, "", values, w);
      if (st == MM_OK)
        st = mm_safetensors_commit (w, NULL);
      else
        mm_safetensors_abort (w);
    }
  free (path);
  free (values);
  return st;
}

static mm_status
rewrite (struct mm_backend *be, const char *from, const char *to)
{
  char *config = NULL, *generation = NULL;
  struct mm_model *m;
  mm_status st = mm_model_open (be, from, &m);

  if (st < 0)
    return st;
  st = mm_config_text (mm_model_config (m), MM_F32, &config, &generation);
  if (st == MM_OK)
    st = write_text (to, "config.json", config);
  if (st == MM_OK)
    st = write_text (to, "generation_config.json", generation);
  if (st == MM_OK)
    st = write_weights (to, m);
  free (config);
  free (generation);
  mm_model_free (m);
  return st;
}

int
main (int argc, char **argv)
{
  struct mm_backend *be = NULL;
  mm_status st = argc == 3 ? mm_backend_open ("cpu", 1, &be)
                           : mm_fail (MM_EUSAGE, "want the folder to read and the folder to write");

  if (st == MM_OK)
    st = rewrite (be, argv[1], argv[2]);
  mm_backend_close (be);
  return mm_exit_status ("folder", st);
}
