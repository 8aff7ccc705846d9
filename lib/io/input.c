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

#include "gunzip.h"

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
  struct mm_gunzip *gunzip;     /* NULL: not a gzip stream */
  char *doubt;                  /* what the library complained of while it looked for the format, or NULL */
  const char *unread;           /* in block: what has come but was not used */
  size_t n_unread;
  char block[BLOCK_SIZE], out[BLOCK_SIZE];
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
  bool readable;                /* it has one: the top layer */
  bool seeks;                   /* the file can be read in any order */
  bool plain;                   /* the present member is the file as it is, read without a layer */
  char *name;                   /* of the present member, for messages */
};

/* ---- a layer's source ---- */

/* Bytes of the file, or of the member below, behind the first HAVE of the block; 0 at its end.  */
static la_ssize_t
read_file (struct layer *l, size_t have)
{
  ssize_t n;

  do
    n = read (l->in->fd, l->block + have, BLOCK_SIZE - have);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    {
      l->in->read_error = errno;
      archive_set_error (l->a, errno, "read failed");
      return ARCHIVE_FATAL;
    }
  l->in->done += (uint64_t) n;
  return n;
}

static la_ssize_t
read_below (struct layer *l, size_t have)
{
  la_ssize_t n = archive_read_data (l->below, l->block + have, BLOCK_SIZE - have);

  if (n < 0)
    archive_set_error (l->a, archive_errno (l->below), "%s", archive_error_string (l->below));
  return n < 0 ? ARCHIVE_FATAL : n;
}

/* Have bytes in l->unread, if there are any left.  */
static bool
fill (struct layer *l)
{
  la_ssize_t n;

  if (l->n_unread > 0)
    return true;
  n = l->below ? read_below (l, 0) : read_file (l, 0);
  l->unread = l->block;
  l->n_unread = n > 0 ? (size_t) n : 0;
  return n >= 0;
}

static la_ssize_t
source_read (struct archive *a, void *data, const void **block)
{
  struct layer *l = data;
  size_t n;

  (void) a;
  if (!fill (l))
    return ARCHIVE_FATAL;
  *block = l->unread;
  n = l->n_unread;
  l->n_unread = 0;
  return (la_ssize_t) n;
}

static la_ssize_t
source_gunzip (struct archive *a, void *data, const void **block)
{
  struct layer *l = data;
  const char *wrong = NULL;
  size_t got = 0;

  while (got == 0 && !wrong)
    {
      if (!fill (l))
        return ARCHIVE_FATAL;
      if (l->n_unread == 0)
        {
          wrong = mm_gunzip_finish (l->gunzip);
          break;
        }
      wrong = mm_gunzip_step (l->gunzip, &l->unread, &l->n_unread, l->out, BLOCK_SIZE, &got);
    }
  if (wrong)
    {
      archive_set_error (a, EILSEQ, "%s", wrong);
      return ARCHIVE_FATAL;
    }
  *block = l->out;
  return (la_ssize_t) got;
}

static la_int64_t
source_seek (struct archive *a, void *data, la_int64_t offset, int whence)
{
  struct layer *l = data;
  off_t at = lseek (l->in->fd, offset, whence);

  if (at < 0)
    {
      archive_set_error (a, errno, "cannot seek");
      return ARCHIVE_FATAL;
    }
  l->n_unread = 0;
  l->in->done = (uint64_t) at;
  return at;
}

/* ---- layers ---- */

/* WHY library A failed, about the present member.  */
static mm_status
fail_because (struct mm_input *in, struct archive *a, const char *why)
{
  if (in->read_error)
    {
      errno = in->read_error;
      return mm_fail_errno (in->name);
    }
  if (archive_errno (a) == ENOMEM)
    return mm_fail (MM_ENOMEM, "%s: no memory", in->name);
  return mm_fail (MM_EFORMAT, "%s: %s", in->name, why ? why : "damaged");
}

static mm_status
fail_archive (struct mm_input *in, struct archive *a)
{
  return fail_because (in, a, archive_error_string (a));
}

/* SEEKS: the source can seek.  Where it cannot, asking it to is an error that would stand in the way (doubt).  */
static void
enable (struct archive *a, bool seeks)
{
  archive_read_support_filter_gzip (a); /* those inside other streams; see choose_source */
  archive_read_support_filter_bzip2 (a);
  archive_read_support_filter_compress (a);
  archive_read_support_filter_xz (a);
  archive_read_support_filter_lzma (a);
  archive_read_support_filter_lzip (a);
  archive_read_support_filter_zstd (a);
  archive_read_support_filter_lz4 (a);
  archive_read_support_format_tar (a);
  archive_read_support_format_zip_streamable (a);
  if (seeks)
    archive_read_support_format_zip_seekable (a);
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
  mm_gunzip_close (l->gunzip);
  free (l->doubt);
  free (l->member);
  free (l);
}

/* Look at the first bytes of L's source and set callbacks and formats accordingly.  */
static mm_status
choose_source (struct layer *l, bool seeks)
{
  size_t n = 0;

  /* A pipe may give its bytes one by one.  */
  for (la_ssize_t more = 1; n < MM_GZIP_MAGIC && more > 0; n += more > 0 ? (size_t) more : 0)
    {
      more = l->below ? read_below (l, n) : read_file (l, n);
      if (more < 0)
        return fail_archive (l->in, l->a);
    }
  l->unread = l->block;
  l->n_unread = n;
  if (n >= MM_GZIP_MAGIC && mm_gunzip_begins (l->block))
    {
      enable (l->a, false);
      archive_read_set_read_callback (l->a, source_gunzip);
      return mm_gunzip_open (&l->gunzip);
    }
  enable (l->a, seeks);
  archive_read_set_read_callback (l->a, source_read);
  if (seeks)
    archive_read_set_seek_callback (l->a, source_seek);
  return MM_OK;
}

/* Put a reader on the file, or on the present member of the top layer.  */
static mm_status
push (struct mm_input *in, bool seeks)
{
  struct layer *l;
  mm_status st;

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
  archive_read_set_callback_data (l->a, l);
  st = choose_source (l, seeks);
  if (st == MM_OK && archive_read_open1 (l->a) < ARCHIVE_WARN)
    st = fail_archive (in, l->a);
  if (st == MM_OK && archive_errno (l->a))
    l->doubt = strdup (archive_error_string (l->a) ? archive_error_string (l->a) : "damaged");
  return st;
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
      in->seeks = S_ISREG (s.st_mode) && !is_stdin;
      st = push (in, in->seeks);
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
      /* A source that cannot be read looks empty to the library.  */
      if (format == ARCHIVE_FORMAT_EMPTY && l->doubt)
        return fail_because (l->in, l->a, l->doubt);
      /* To the library, zeros at the beginning are the end of a tar; what follows them would be lost.  */
      if (format == ARCHIVE_FORMAT_TAR && archive_file_count (l->a) == 0)
        return mm_fail (MM_EFORMAT, "%s: begins with zero bytes: a tar without members, or no text", l->in->name);
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

/* The present member, a leaf, was found: where it is the file itself, go back to its beginning and read it
   without copies.  */
static mm_status
begin_leaf (struct mm_input *in)
{
  const struct layer *l = in->layers[0];

  in->readable = !in->empty;
  in->plain = in->readable && in->seeks && in->n_layers == 1 && !l->gunzip && archive_filter_count (l->a) == 1;
  return in->plain ? mm_input_seek (in, 0) : MM_OK;
}

mm_status
mm_input_next (struct mm_input *in, bool *more)
{
  *more = in->readable = false;
  if (in->plain)
    pop (in);                   /* its place in the file is no more what it thinks */
  in->plain = false;
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
          return begin_leaf (in);
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

/* Up to SIZE bytes of the file itself.  */
static mm_status
read_plain (struct mm_input *in, char *data, size_t size, size_t *got)
{
  while (*got < size)
    {
      ssize_t n = read (in->fd, data + *got, size - *got);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return mm_fail_errno (in->name);
      if (n == 0)
        break;
      *got += (size_t) n;
      in->done += (uint64_t) n;
    }
  return MM_OK;
}

mm_status
mm_input_read (struct mm_input *in, void *data, size_t size, size_t *got)
{
  struct archive *a;
  la_ssize_t n;

  *got = 0;
  if (!in->readable || size == 0)
    return MM_OK;
  if (in->plain)
    return read_plain (in, data, size, got);
  a = in->layers[in->n_layers - 1]->a;
  n = archive_read_data (a, data, size);
  if (n < 0)
    return fail_archive (in, a);
  *got = (size_t) n;
  return MM_OK;
}

bool
mm_input_seekable (const struct mm_input *in)
{
  return in->plain;
}

mm_status
mm_input_seek (struct mm_input *in, uint64_t offset)
{
  if (!in->plain)
    return mm_fail (MM_EINVAL, "%s: can be read from its beginning only", in->name);
  if (offset > INT64_MAX || lseek (in->fd, (off_t) offset, SEEK_SET) < 0)
    return mm_fail_errno (in->name);
  in->done = offset;
  return MM_OK;
}

void
mm_input_progress (const struct mm_input *in, uint64_t *done, uint64_t *total)
{
  *done = in->done;
  *total = in->total;
}
