/* input.c -- plain files, compressed files and archives as one stream of members.
   SPDX-License-Identifier: Apache-2.0

   Layers of libarchive readers: the lowest reads the file, each other one reads a member of the one below,
   so that compressed members of an archive, and archives in archives, come out decompressed.  A layer whose
   format is "raw" holds one member without a name, its whole decompressed contents.

   Formats and filters are enabled one by one: those that know their files by bytes that never begin a text.
   mtree, cpio, ar, WARC and uuencode do not, and would take a text that begins like them for theirs; lrzip,
   lzop and grzip would run programs.  */

#include <config.h>

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <minimind/input.h>

enum
{
  MAX_LAYERS = 6,
  BLOCK_SIZE = 1 << 16
};

struct layer
{
  struct mm_input *in;
  struct archive *a;
  struct archive *below;        /* NULL: reads the file */
  char *member;                 /* name of the present member, NULL in a raw layer */
  char block[BLOCK_SIZE];
};

struct mm_input
{
  char *path;
  int fd;
  int read_error;               /* errno of the file's first failed read, or 0 */
  uint64_t done, total;         /* bytes of the file */
  int n_layers;
  struct layer *layers[MAX_LAYERS];
  bool empty;                   /* the present member has no bytes and no reader */
  char *name;                   /* of the present member, for messages */
};

/* ---- a layer's source ---- */

static la_ssize_t
read_file (struct archive *a, void *data, const void **block)
{
  struct layer *l = data;
  ssize_t n;

  do
    n = read (l->in->fd, l->block, BLOCK_SIZE);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    {
      l->in->read_error = errno;
      archive_set_error (a, errno, "read failed");
      return ARCHIVE_FATAL;
    }
  l->in->done += (uint64_t) n;
  *block = l->block;
  return n;
}

static la_int64_t
seek_file (struct archive *a, void *data, la_int64_t offset, int whence)
{
  struct layer *l = data;
  off_t at = lseek (l->in->fd, offset, whence);

  if (at < 0)
    {
      archive_set_error (a, errno, "cannot seek");
      return ARCHIVE_FATAL;
    }
  l->in->done = (uint64_t) at;
  return at;
}

static la_ssize_t
read_below (struct archive *a, void *data, const void **block)
{
  struct layer *l = data;
  la_ssize_t n = archive_read_data (l->below, l->block, BLOCK_SIZE);

  if (n < 0)
    {
      archive_set_error (a, archive_errno (l->below), "%s", archive_error_string (l->below));
      return ARCHIVE_FATAL;
    }
  *block = l->block;
  return n;
}

/* ---- layers ---- */

/* What library A said, about the present member.  */
static mm_status
fail_archive (struct mm_input *in, struct archive *a)
{
  const char *why = archive_error_string (a);

  if (in->read_error)
    {
      errno = in->read_error;
      return mm_fail_errno (in->name);
    }
  if (archive_errno (a) == ENOMEM)
    return mm_fail (MM_ENOMEM, "%s: no memory", in->name);
  return mm_fail (MM_EFORMAT, "%s: %s", in->name, why ? why : "damaged");
}

static void
enable (struct archive *a)
{
  archive_read_support_filter_gzip (a);
  archive_read_support_filter_bzip2 (a);
  archive_read_support_filter_compress (a);
  archive_read_support_filter_xz (a);
  archive_read_support_filter_lzma (a);
  archive_read_support_filter_lzip (a);
  archive_read_support_filter_zstd (a);
  archive_read_support_filter_lz4 (a);
  archive_read_support_format_tar (a);
  archive_read_support_format_zip (a);
  archive_read_support_format_7zip (a);
  archive_read_support_format_rar (a);
  archive_read_support_format_rar5 (a);
  archive_read_support_format_cab (a);
  archive_read_support_format_raw (a);
  archive_read_support_format_empty (a);
}

static void
pop (struct mm_input *in)
{
  struct layer *l = in->layers[--in->n_layers];

  archive_read_free (l->a);
  free (l->member);
  free (l);
}

/* Put a reader on the file, or on the present member of the top layer.  SEEKS: the file can seek,
   which some formats need.  */
static mm_status
push (struct mm_input *in, bool seeks)
{
  struct layer *l;

  if (in->n_layers == MAX_LAYERS)
    return mm_fail (MM_EUNSUP, "%s: archives are nested too deep", in->name);
  l = calloc (1, sizeof *l);
  if (!l || !(l->a = archive_read_new ()))
    {
      free (l);
      return mm_fail (MM_ENOMEM, "%s: no memory", in->name);
    }
  l->in = in;
  if (in->n_layers > 0)
    l->below = in->layers[in->n_layers - 1]->a;
  in->layers[in->n_layers++] = l;
  enable (l->a);
  archive_read_set_read_callback (l->a, l->below ? read_below : read_file);
  if (seeks)
    archive_read_set_seek_callback (l->a, seek_file);
  archive_read_set_callback_data (l->a, l);
  return archive_read_open1 (l->a) < ARCHIVE_WARN ? fail_archive (in, l->a) : MM_OK;
}

/* Compose the present member's name: FILE, then "(MEMBER)" for each archive.  */
static mm_status
compose_name (struct mm_input *in)
{
  size_t size;
  FILE *f;

  free (in->name);
  in->name = NULL;
  f = open_memstream (&in->name, &size);
  if (f)
    {
      fputs (in->path, f);
      for (int i = 0; i < in->n_layers; i++)
        if (in->layers[i]->member)
          fprintf (f, "(%s)", in->layers[i]->member);
    }
  if (!f || fclose (f) != 0)
    return mm_fail (MM_ENOMEM, "%s: no memory", in->path);
  return MM_OK;
}

/* Remember the name of ENTRY in L; bytes that fit no charset are kept as they are.  */
static mm_status
set_member (struct layer *l, struct archive_entry *entry)
{
  const char *name = archive_entry_pathname_utf8 (entry);

  if (!name)
    name = archive_entry_pathname (entry);
  free (l->member);
  l->member = strdup (name ? name : "?");
  return l->member ? compose_name (l->in) : mm_fail (MM_ENOMEM, "%s: no memory", l->in->path);
}

/* ---- the public part ---- */

mm_status
mm_input_open (const char *path, struct mm_input **result)
{
  struct mm_input *in = calloc (1, sizeof *in);
  bool is_stdin = strcmp (path, "-") == 0;
  struct stat s;
  mm_status st = MM_OK;

  *result = NULL;
  if (!in || !(in->path = strdup (is_stdin ? "standard input" : path)))
    {
      free (in);
      return mm_fail (MM_ENOMEM, "%s: no memory", path);
    }
  in->fd = is_stdin ? STDIN_FILENO : open (path, O_RDONLY | O_CLOEXEC);
  if (in->fd < 0 || fstat (in->fd, &s) < 0)
    st = mm_fail_errno (in->path);
  else if (S_ISDIR (s.st_mode))
    st = mm_fail (MM_EIO, "%s: is a folder, want a file", in->path);
  if (st == MM_OK)
    st = compose_name (in);
  if (st == MM_OK)
    {
      in->total = S_ISREG (s.st_mode) ? (uint64_t) s.st_size : 0;
      /* Standard input may begin in the middle of a file: there places mean nothing.  */
      st = push (in, S_ISREG (s.st_mode) && !is_stdin);
    }
  if (st < 0)
    mm_input_close (in);
  else
    *result = in;
  return st;
}

void
mm_input_close (struct mm_input *in)
{
  if (!in)
    return;
  while (in->n_layers > 0)
    pop (in);
  if (in->fd > STDIN_FILENO)
    close (in->fd);
  free (in->path);
  free (in->name);
  free (in);
}

/* Go to the next member of the top layer L.  *ENDED: it has none left.  *LEAF: it is raw or empty, so its
   only member is what is to be read.  Else the member's contents are for a layer above.  */
static mm_status
advance (struct layer *l, bool *ended, bool *leaf)
{
  struct archive_entry *entry;
  int r, format;

  *ended = *leaf = false;
  /* Folders, links and devices have no contents; a hard link's came under its first name.  */
  do
    r = archive_read_next_header (l->a, &entry);
  while ((r == ARCHIVE_OK || r == ARCHIVE_WARN)
         && (archive_format (l->a) & ARCHIVE_FORMAT_BASE_MASK) != ARCHIVE_FORMAT_RAW
         && (archive_entry_filetype (entry) != AE_IFREG || archive_entry_hardlink (entry)));
  format = archive_format (l->a) & ARCHIVE_FORMAT_BASE_MASK;
  if (r == ARCHIVE_EOF)
    {
      *leaf = l->in->empty = format == ARCHIVE_FORMAT_EMPTY;
      *ended = !*leaf;
      return MM_OK;
    }
  /* ARCHIVE_RETRY too: the library offers to go on behind a damaged header, members would be lost.  */
  if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
    return fail_archive (l->in, l->a);
  *leaf = format == ARCHIVE_FORMAT_RAW;
  return *leaf ? MM_OK : set_member (l, entry);
}

mm_status
mm_input_next (struct mm_input *in, bool *more)
{
  *more = false;
  if (in->empty)
    pop (in);                   /* libarchive cannot be asked again after an end */
  in->empty = false;
  while (in->n_layers > 0)
    {
      bool ended, leaf;
      mm_status st = advance (in->layers[in->n_layers - 1], &ended, &leaf);

      if (st < 0)
        return st;
      if (leaf)
        {
          *more = true;
          return MM_OK;
        }
      if (ended)
        pop (in);
      else
        st = push (in, false);
      if (st < 0)
        return st;
    }
  return MM_OK;
}

const char *
mm_input_name (const struct mm_input *in)
{
  return in->name;
}

mm_status
mm_input_read (struct mm_input *in, void *data, size_t size, size_t *got)
{
  struct archive *a = in->n_layers > 0 ? in->layers[in->n_layers - 1]->a : NULL;
  la_ssize_t n;

  *got = 0;
  if (in->empty || !a || size == 0)
    return MM_OK;
  n = archive_read_data (a, data, size);
  if (n < 0)
    return fail_archive (in, a);
  *got = (size_t) n;
  return MM_OK;
}

void
mm_input_progress (const struct mm_input *in, uint64_t *done, uint64_t *total)
{
  *done = in->done;
  *total = in->total;
}
