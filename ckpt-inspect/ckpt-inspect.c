/* ckpt-inspect.c -- one action on each path, its result printed.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <minimind/checkpoint.h>
#include <minimind/hash.h>
#include <minimind/json.h>
#include <minimind/shown.h>

#include "ckpt-inspect.h"
#include "describe.h"
#include "diff.h"
#include "kind.h"
#include "pieces.h"
#include "print.h"
#include "verify.h"

/* PATH as a JSON string: names of files need not be UTF-8.  */
static json_t *
path_string (const char *path)
{
  json_t *s = json_string (path);
  char *text = s ? NULL : mm_shown_text (path, strlen (path));

  if (text)
    s = json_string (text);
  free (text);
  return s;
}

/* D as a line of JSON.  */
static mm_status
print_json (const json_t *d)
{
  char *text;
  mm_status st = mm_json_text (d, false, &text);

  if (st == MM_OK)
    puts (text);
  free (text);
  return st;
}

static void
print_path (const char *path)
{
  mm_shown_write (stdout, path, strlen (path));
}

/* ---- actions ---- */

static mm_status
show (const char *path, const struct inspect_config *c)
{
  enum kind kind;
  json_t *d = json_object ();
  mm_status st = kind_detect (path, &kind);

  if (st == MM_OK && c->json)
    {
      json_object_set_new (d, "path", path_string (path));
      json_object_set_new (d, "kind", json_string (kind_names[kind]));
    }
  if (st == MM_OK)
    st = describe (path, kind, c, d);
  if (st == MM_OK && c->json)
    st = print_json (d);
  else if (st == MM_OK)
    {
      print_path (path);
      printf (": %s\n", kind_names[kind]);
      print_fields (d, 2);
    }
  json_decref (d);
  return st;
}

static mm_status
verify_path (const char *path, const struct inspect_config *c)
{
  enum kind kind;
  json_t *d;
  mm_status st = kind_detect (path, &kind);

  if (st == MM_OK)
    st = verify (path, kind);
  if (st < 0)
    return st;
  if (!c->json)
    {
      print_path (path);
      printf (": %s, valid\n", kind_names[kind]);
      return MM_OK;
    }
  d = json_pack ("{s:o, s:s, s:b}", "path", path_string (path), "kind", kind_names[kind], "valid", 1);
  st = print_json (d);
  json_decref (d);
  return st;
}

/* One line as sha256sum prints it; a folder's digest is that of its files' lines.  */
static mm_status
digest_path (const char *path, const struct inspect_config *c)
{
  char sha256[MM_SHA256_TEXT], *dir = NULL;
  enum kind kind;
  json_t *d;
  mm_status st = kind_detect (path, &kind);

  if (st == MM_OK && kind == KIND_RUN)
    {
      st = mm_checkpoint_folder (path, &dir);
      path = dir;
    }
  if (st == MM_OK)
    st = kind_is_folder (kind) ? mm_checkpoint_digest (path, sha256) : mm_sha256_file (path, sha256);
  if (st == MM_OK && c->json)
    {
      d = json_pack ("{s:o, s:s, s:s}", "path", path_string (path), "kind", kind_names[kind], "sha256", sha256);
      st = print_json (d);
      json_decref (d);
    }
  else if (st == MM_OK)
    {
      printf ("%s  ", sha256);
      print_path (path);
      putchar ('\n');
    }
  free (dir);
  return st;
}

/* ---- differences ---- */

static void
print_difference (json_t *d)
{
  json_t *largest = json_object_get (d, "max_abs_diff");
  const char *name = json_string_value (json_object_get (d, "name"));
  char *shapes[2] = { NULL, NULL };

  print_path (name ? name : "?");
  if (json_object_get (d, "differing"))
    {
      printf (": %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT " elements differ",
              json_integer_value (json_object_get (d, "differing")),
              json_integer_value (json_object_get (d, "elements")));
      if (json_is_real (largest))
        printf (", by at most %.6g", json_real_value (largest));
      putchar ('\n');
      return;
    }
  if (mm_json_text (json_object_get (d, "shape_a"), false, &shapes[0]) == MM_OK
      && mm_json_text (json_object_get (d, "shape_b"), false, &shapes[1]) == MM_OK)
    printf (": %s %s, %s %s\n", json_string_value (json_object_get (d, "dtype_a")), shapes[0],
            json_string_value (json_object_get (d, "dtype_b")), shapes[1]);
  free (shapes[0]);
  free (shapes[1]);
}

/* Each name of LIST on a line, WHAT behind it.  */
static void
print_names (json_t *list, const char *what)
{
  json_t *name;
  size_t i;

  json_array_foreach (list, i, name)
    {
      print_path (json_string_value (name));
      printf (": %s\n", what);
    }
}

static void
print_differences (json_t *d)
{
  json_t *tensors = json_object_get (d, "tensors"), *tensor;
  size_t i;

  json_array_foreach (tensors, i, tensor)
    print_difference (tensor);
  print_names (json_object_get (d, "only_a"), "only in the first");
  print_names (json_object_get (d, "only_b"), "only in the second");
  print_names (json_object_get (d, "files"), "the files differ");
  printf ("%s: %" JSON_INTEGER_FORMAT " tensors compared, %zu differ\n",
          json_is_true (json_object_get (d, "same")) ? "same" : "different",
          json_integer_value (json_object_get (d, "compared")), json_array_size (tensors));
}

static mm_status
diff_paths (const char *path, const struct inspect_config *c, bool *different)
{
  json_t *d;
  mm_status st = diff (path, c->other, &d);

  if (st < 0)
    return st;
  *different = !json_is_true (json_object_get (d, "same"));
  if (c->json)
    st = print_json (d);
  else
    print_differences (d);
  json_decref (d);
  return st;
}

mm_status
ckpt_inspect (const struct inspect_config *c, bool *different)
{
  mm_status st = MM_OK;

  *different = false;
  for (size_t i = 0; st == MM_OK && i < c->n_paths; i++)
    switch (c->action)
      {
      case INSPECT_SHOW:
        st = show (c->paths[i], c);
        break;
      case INSPECT_VERIFY:
        st = verify_path (c->paths[i], c);
        break;
      case INSPECT_SHA256:
        st = digest_path (c->paths[i], c);
        break;
      case INSPECT_DIFF:
        st = diff_paths (c->paths[i], c, different);
        break;
      }
  return st;
}
