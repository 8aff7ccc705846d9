/* kind.c -- folders by the files they hold, files by their first bytes and metadata.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minimind/files.h>
#include <minimind/memory.h>
#include <minimind/safetensors.h>

#include "kind.h"

const char *const kind_names[] = {
  [KIND_CHECKPOINT] = "checkpoint",
  [KIND_ADAPTER_CHECKPOINT] = "adapter checkpoint",
  [KIND_MODEL] = "model folder",
  [KIND_ADAPTER] = "adapter folder",
  [KIND_RUN] = "run folder",
  [KIND_DATASET] = "dataset folder",
  [KIND_TOKENIZER_FOLDER] = "tokenizer folder",
  [KIND_TOKENIZER] = "tokenizer",
  [KIND_TOKENS] = "token file",
  [KIND_ROWS] = "dataset part",
  [KIND_SAFETENSORS] = "safetensors file"
};

bool
kind_is_folder (enum kind kind)
{
  return kind <= KIND_TOKENIZER_FOLDER;
}

/* ---- names ---- */

void
names_free (char **names, size_t count)
{
  for (size_t i = 0; i < count; i++)
    free (names[i]);
  free (names);
}

static int
compare_names (const void *a, const void *b)
{
  return strcmp (*(char *const *) a, *(char *const *) b);
}

static bool
fits (const char *name, const char *prefix, const char *suffix)
{
  size_t n = strlen (name), p = strlen (prefix), s = strlen (suffix);

  return *name != '.' && n >= p + s && strncmp (name, prefix, p) == 0 && strcmp (name + n - s, suffix) == 0;
}

/* What ends in a suffix that was asked for is listed whatever it is: that a folder, a pipe or a broken link stands
   in place of a file is for the one who opens it to say.  */
static bool
listed (int dir, const char *name, const char *suffix, bool folders)
{
  struct stat s;

  if (*suffix)
    return true;
  /* So is what cannot be looked at.  */
  return fstatat (dir, name, &s, 0) < 0 ? errno != ENOENT : folders ? S_ISDIR (s.st_mode) : S_ISREG (s.st_mode);
}

mm_status
names_list (const char *path, const char *prefix, const char *suffix, bool folders, char ***names, size_t *count)
{
  DIR *d = opendir (path);
  size_t capacity = 0;
  const char *name;
  mm_status st;

  *names = NULL;
  *count = 0;
  if (!d)
    return mm_fail_errno (path);
  while ((st = mm_next_name (d, path, &name)) == MM_OK && name)
    {
      if (!fits (name, prefix, suffix) || !listed (dirfd (d), name, suffix, folders))
        continue;
      st = mm_grow ("list of names", names, &capacity, *count + 1, sizeof **names);
      if (st == MM_OK && !((*names)[*count] = strdup (name)))
        st = mm_fail (MM_ENOMEM, "%s: no memory", path);
      if (st < 0)
        break;
      ++*count;
    }
  closedir (d);
  if (st < 0)
    {
      names_free (*names, *count);
      *names = NULL;
      *count = 0;
    }
  else if (*count)
    qsort (*names, *count, sizeof **names, compare_names);
  return st;
}

/* ---- kinds ---- */

/* *THERE: folder PATH holds NAME.  */
static mm_status
holds (const char *path, const char *name, bool *there)
{
  char *joined = mm_path_join (path, name);
  mm_status st = joined ? mm_path_exists (joined, there) : mm_fail (MM_ENOMEM, "%s: no memory", path);

  free (joined);
  return st;
}

/* A step folder is *KIND; that of an adapter holds no model.  */
static mm_status
tell_adapter (const char *path, enum kind *kind)
{
  bool model = false, adapter = false;
  mm_status st = holds (path, "config.json", &model);

  if (st == MM_OK)
    st = holds (path, "adapter_config.json", &adapter);
  if (adapter && !model)
    *kind = KIND_ADAPTER_CHECKPOINT;
  return st;
}

static mm_status
detect_folder (const char *path, enum kind *kind)
{
  static const struct
  {
    const char *file;
    enum kind kind;
  } marks[] = {
    { "MANIFEST", KIND_CHECKPOINT }, { "trainer.json", KIND_CHECKPOINT }, { "dataset.json", KIND_DATASET },
    { "config.json", KIND_MODEL }, { "adapter_config.json", KIND_ADAPTER }, { "tokenizer.json", KIND_TOKENIZER_FOLDER },
  };
  char **steps;
  size_t n;
  bool there = false;
  mm_status st = MM_OK;

  for (size_t i = 0; st == MM_OK && i < sizeof marks / sizeof *marks; i++)
    {
      st = holds (path, marks[i].file, &there);
      *kind = marks[i].kind;
      if (there)
        return st == MM_OK && *kind == KIND_CHECKPOINT ? tell_adapter (path, kind) : st;
    }
  if (st == MM_OK)
    st = names_list (path, "step-", "", true, &steps, &n);
  if (st < 0)
    return st;
  names_free (steps, n);
  *kind = KIND_RUN;
  if (n > 0)
    return MM_OK;
  return mm_fail (MM_EFORMAT, "%s: a folder of no known kind: want config.json, adapter_config.json, "
                  "dataset.json, tokenizer.json or step folders", path);
}

/* The first SIZE bytes of PATH, zeros where it has fewer.  */
static mm_status
first_bytes (const char *path, unsigned char *data, size_t size)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  mm_status st = MM_OK;

  memset (data, 0, size);
  if (fd < 0)
    return mm_fail_errno (path);
  if (read (fd, data, size) < 0)
    st = mm_fail_errno (path);
  close (fd);
  return st;
}

static mm_status
detect_safetensors (const char *path, enum kind *kind)
{
  struct mm_safetensors *file;
  const char *name;
  mm_status st = mm_safetensors_open (path, &file);

  if (st < 0)
    return st;
  name = mm_safetensors_meta (file, "kind");
  *kind = name && strcmp (name, "minimind-tokens") == 0 ? KIND_TOKENS
          : name && strcmp (name, "minimind-rows") == 0 ? KIND_ROWS : KIND_SAFETENSORS;
  mm_safetensors_close (file);
  return MM_OK;
}

static mm_status
detect_file (const char *path, enum kind *kind)
{
  unsigned char start[64];
  size_t blanks = 0;
  mm_status st = first_bytes (path, start, sizeof start);

  if (st < 0)
    return st;
  if (memcmp (start, "PK\3\4", 4) == 0)
    return mm_fail (MM_EUNSUP, "%s: a zip archive, as PyTorch's .pth files are: want safetensors", path);
  if (memcmp (start, "GGUF", 4) == 0)
    return mm_fail (MM_EUNSUP, "%s: a GGUF file: want safetensors", path);
  /* A safetensors header of 123 bytes begins with '{' as well, and then has zeros.  */
  while (blanks < 4 && isspace (start[blanks]))
    blanks++;
  if (start[blanks] == '{' && !(start[7] == 0 && start[8] == '{'))
    {
      const char *slash = strrchr (path, '/');

      if (strcmp (slash ? slash + 1 : path, "dataset.json") == 0)
        return mm_fail (MM_EFORMAT, "%s: describes a dataset: name its folder", path);
      *kind = KIND_TOKENIZER;
      return MM_OK;
    }
  return detect_safetensors (path, kind);
}

mm_status
kind_detect (const char *path, enum kind *kind)
{
  struct stat s;

  if (stat (path, &s) < 0)
    return mm_fail_errno (path);
  if (S_ISDIR (s.st_mode))
    return detect_folder (path, kind);
  if (!S_ISREG (s.st_mode))
    return mm_fail (MM_EIO, "%s: is a pipe or device, want a file or folder", path);
  return detect_file (path, kind);
}
