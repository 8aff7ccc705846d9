/* input.c -- every kind of input gives the same members; damage is an error, not a short file.
   SPDX-License-Identifier: Apache-2.0

   Archives and compressed files are made by libarchive's writer.  */

#include <config.h>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

#include <minimind/input.h>

#include "../tap.h"
#include "scratch.h"

static int
says (const char *part)
{
  return strstr (mm_error_message (), part) != NULL;
}

/* Text that compresses, but not to nothing.  */
static char text[100000];

static void
make_text (void)
{
  unsigned seed = 1;

  for (size_t i = 0; i < sizeof text; i++)
    {
      seed = seed * 1103515245 + 12345;
      text[i] = (char) ('a' + (seed >> 16) % 26);
      if (i % 61 == 60)
        text[i] = '\n';
    }
}

/* Make PATH: NAMES[i] with contents DATA[i] of SIZES[i] bytes, in FORMAT with FILTER.  */
static void
make_archive (const char *path, int format, int filter, size_t n, const char *const *names,
              const char *const *data, const size_t *sizes)
{
  struct archive *a = archive_write_new ();
  struct archive_entry *e = archive_entry_new ();
  int bad = archive_write_add_filter (a, filter) < ARCHIVE_WARN || archive_write_set_format (a, format)
            || archive_write_open_filename (a, path);

  for (size_t i = 0; i < n && !bad; i++)
    {
      archive_entry_clear (e);
      archive_entry_set_pathname (e, names[i]);
      archive_entry_set_filetype (e, data[i] ? AE_IFREG : AE_IFDIR);
      archive_entry_set_perm (e, 0644);
      archive_entry_set_size (e, data[i] ? (la_int64_t) sizes[i] : 0);
      bad = archive_write_header (a, e) < ARCHIVE_WARN
            || (data[i] && archive_write_data (a, data[i], sizes[i]) != (la_ssize_t) sizes[i]);
    }
  archive_entry_free (e);
  if (bad || archive_write_close (a) < ARCHIVE_OK)
    {
      printf ("Bail out! %s: %s\n", path, archive_error_string (a));
      exit (99);
    }
  archive_write_free (a);
}

static void
make_one (const char *path, int filter, const char *data, size_t size)
{
  make_archive (path, ARCHIVE_FORMAT_RAW, filter, 1, (const char *[]) { "data" }, &data, &size);
}

/* Read the file NAME whole; the caller frees it.  */
static char *
slurp (const char *name, size_t *size)
{
  FILE *f = fopen (name, "rb");
  char *data = malloc (1 << 20);

  *size = f && data ? fread (data, 1, 1 << 20, f) : 0;
  if (f)
    fclose (f);
  return data;
}

/* The next member is called NAME and holds these bytes, read STEP bytes at a time.  */
static int
member_is (struct mm_input *in, const char *name, const char *data, size_t size, size_t step)
{
  static char got[sizeof text + 100];
  size_t n = 0, part;
  bool more;

  if (mm_input_next (in, &more) < 0 || !more || strcmp (mm_input_name (in), name) != 0)
    return 0;
  do
    {
      if (n + step > sizeof got)
        step = sizeof got - n;
      if (mm_input_read (in, got + n, step, &part) < 0)
        return 0;
      n += part;
    }
  while (part > 0);
  return n == size && memcmp (got, data, size) == 0;
}

static int
ends (struct mm_input *in)
{
  bool more = true;
  int result = mm_input_next (in, &more) == MM_OK && !more && mm_input_next (in, &more) == MM_OK && !more;

  mm_input_close (in);
  return result;
}

/* PATH is one member with these bytes.  */
static int
is_one (const char *path, const char *data, size_t size)
{
  struct mm_input *in = NULL;
  int good;

  if (mm_input_open (path, &in) < 0)
    return 0;
  good = member_is (in, path, data, size, 7001);
  return ends (in) && good;
}

static void
test_plain (void)
{
  static const char *const starts[] = {
    "#mtree\n./a type=file\n", "070707123456", "070701000000", "!<arch>\n", "begin 644 a\nM", "WARC/1.0\r\n",
    "PK", "PK\n", "Rar!", "7z", "MSCF", "MZ", "BZh9", "]", "LZIP", "\x1f", "\x1f\x8b", "ustar", "x", "\n",
    "-lh5-", "xar!", "\xef\xbb\xbf{\"text\": 1}\n", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n",
  };
  struct mm_input *in = NULL;
  uint64_t done, total;
  char part[100];
  size_t got;
  int good = 1;

  scratch_put ("text", text, sizeof text);
  ok (is_one ("text", text, sizeof text), "a plain file");
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    {
      char copy[2000];
      size_t n = strlen (starts[i]);

      memcpy (copy, text, sizeof copy);
      memcpy (copy, starts[i], n);
      scratch_put ("start", copy, sizeof copy);
      good &= is_one ("start", copy, sizeof copy);
      scratch_put ("start", copy, n);
      good &= is_one ("start", copy, n);
      if (!good)
        {
          printf ("# %s\n", starts[i]);
          break;
        }
    }
  ok (good, "text that begins like an archive is text");
  scratch_put ("empty", "", 0);
  ok (is_one ("empty", "", 0), "an empty file is one empty member");
  ok (mm_input_open ("text", &in) == MM_OK && member_is (in, "text", text, sizeof text, 100000), "progress");
  mm_input_progress (in, &done, &total);
  ok (done == sizeof text && total == sizeof text, "counts the file's bytes");
  ok (mm_input_seekable (in) && mm_input_seek (in, 70000) == MM_OK && mm_input_read (in, part, 100, &got) == MM_OK
      && got == 100 && memcmp (part, text + 70000, 100) == 0, "a plain file is read from any place");
  mm_input_progress (in, &done, &total);
  ok (done == 70100, "where progress is");
  ok (ends (in), "and has no other member");
  mm_input_close (NULL);
}

static void
test_stdin (void)
{
  struct mm_input *in = NULL;
  int saved = dup (0), fd = open ("text", O_RDONLY), ends_of[2];
  uint64_t done, total;

  ok (lseek (fd, 10, SEEK_SET) == 10 && dup2 (fd, 0) == 0 && mm_input_open ("-", &in) == MM_OK
      && member_is (in, "standard input", text + 10, sizeof text - 10, 5000), "standard input from its place on");
  ok (ends (in) && fcntl (0, F_GETFD) >= 0, "which stays open");
  close (fd);
  ok (pipe (ends_of) == 0 && write (ends_of[1], "abc", 3) == 3 && close (ends_of[1]) == 0
      && dup2 (ends_of[0], 0) == 0 && mm_input_open ("-", &in) == MM_OK
      && member_is (in, "standard input", "abc", 3, 5000), "a pipe");
  mm_input_progress (in, &done, &total);
  ok (done == 3 && total == 0 && ends (in), "whose size is not known");
  close (ends_of[0]);
  dup2 (saved, 0);
  close (saved);
}

static const struct
{
  int filter;
  const char *name;
  bool ends;                    /* its stream says where it ends */
  bool sums;                    /* and holds a checksum, as libarchive writes it */
} filters[] = {
  { ARCHIVE_FILTER_GZIP, "gzip", true, true }, { ARCHIVE_FILTER_BZIP2, "bzip2", true, true },
  { ARCHIVE_FILTER_XZ, "xz", true, true }, { ARCHIVE_FILTER_ZSTD, "zstd", true, false },
  { ARCHIVE_FILTER_LZ4, "lz4", true, true }, { ARCHIVE_FILTER_LZIP, "lzip", true, true },
  { ARCHIVE_FILTER_LZMA, "lzma", true, false }, { ARCHIVE_FILTER_COMPRESS, "compress", false, false },
};

/* The status of reading all of PATH.  */
static mm_status
read_all (const char *path)
{
  static char data[4096];
  struct mm_input *in = NULL;
  size_t got;
  bool more;
  mm_status st = mm_input_open (path, &in);

  while (st == MM_OK && (st = mm_input_next (in, &more)) == MM_OK && more)
    do
      st = mm_input_read (in, data, sizeof data, &got);
    while (st == MM_OK && got > 0);
  mm_input_close (in);
  return st;
}

/* Cut the file at some 60 places, past the bytes that tell what it is.  */
static int
cuts_are_found (const char *name, const char *data, size_t size)
{
  for (size_t n = 32; n < size; n += n < 64 || size - n < 12 ? 1 : size / 12)
    {
      scratch_put ("cut", data, n);
      if (read_all ("cut") != MM_EFORMAT || !says ("cut: "))
        {
          printf ("# %s at %zu of %zu: %s\n", name, n, size, mm_error_message ());
          return 0;
        }
    }
  return 1;
}

/* Read the small file: MM_OK for the text, and for a file that is no more what it was and is taken as it is.  */
static bool
is_seen (const char *data, size_t size)
{
  static char got[4096];
  size_t part = 0, all = 0;
  struct mm_input *in;
  bool more = false;
  mm_status st;

  scratch_put ("small", data, size);
  st = mm_input_open ("small", &in);
  if (st == MM_OK)
    st = mm_input_next (in, &more);
  while (st == MM_OK && more && (st = mm_input_read (in, got + all, sizeof got - all, &part)) == MM_OK && part)
    all += part;
  mm_input_close (in);
  return st == MM_EFORMAT || (all == 300 && memcmp (got, text, 300) == 0)
         || (all == size && memcmp (got, data, size) == 0);
}

/* Cut a small file anywhere, and with SUMS change it anywhere: it never comes out short or changed without a
   word.  */
static int
nothing_is_swallowed (const char *name, char *data, size_t size, bool sums)
{
  for (size_t i = 1; i < size; i++)
    if (!is_seen (data, i))
      {
        printf ("# %s cut at %zu of %zu\n", name, i, size);
        return 0;
      }
  for (size_t i = 0; sums && i < size; i++)
    {
      bool seen;

      data[i] ^= 16;
      seen = is_seen (data, size);
      data[i] ^= 16;
      if (!seen)
        {
          printf ("# %s changed at %zu of %zu\n", name, i, size);
          return 0;
        }
    }
  return 1;
}

static void
test_filters (void)
{
  struct mm_input *in = NULL;
  bool more;

  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
    {
      char name[80], *data;
      size_t size;

      make_one ("one", filters[i].filter, text, sizeof text);
      snprintf (name, sizeof name, "%s is decompressed", filters[i].name);
      ok (is_one ("one", text, sizeof text), name);
      data = slurp ("one", &size);
      snprintf (name, sizeof name, "%s cut off is damaged", filters[i].name);
      if (filters[i].ends)
        ok (cuts_are_found (filters[i].name, data, size), name);
      free (data);
      make_one ("one", filters[i].filter, text, 300);
      data = slurp ("one", &size);
      snprintf (name, sizeof name, "%s, small: no damage goes unseen", filters[i].name);
      if (filters[i].ends)
        ok (nothing_is_swallowed (filters[i].name, data, size, filters[i].sums), name);
      make_one ("one", filters[i].filter, text, sizeof text);
      free (data);
      data = slurp ("one", &size);
      make_one ("two", filters[i].filter, data, size);
      snprintf (name, sizeof name, "%s twice", filters[i].name);
      ok (is_one ("two", text, sizeof text), name);
      free (data);
    }
  make_one ("none", ARCHIVE_FILTER_GZIP, "", 0);
  ok (is_one ("none", "", 0), "nothing, compressed, is one empty member");
  ok (mm_input_open ("two", &in) == MM_OK && mm_input_next (in, &more) == MM_OK && more && !mm_input_seekable (in)
      && mm_input_seek (in, 0) == MM_EINVAL, "what is compressed has one order");
  mm_input_close (in);
}

static const char *const names[] = { "dir", "dir/a.txt", "dir/\xe6\x96\x87.txt", "dir/empty", "b\x1b[2J" };
static const char *const contents[] = { NULL, text, "\xe6\x96\x87", "", "b" };
static const size_t sizes[] = { 0, sizeof text, 3, 0, 1 };

/* The five entries of PATH, of which four are members.  */
static int
is_archive (const char *path)
{
  struct mm_input *in = NULL;
  char want[4][80];
  int good;

  snprintf (want[0], 80, "%s(dir/a.txt)", path);
  snprintf (want[1], 80, "%s(dir/\xe6\x96\x87.txt)", path);
  snprintf (want[2], 80, "%s(dir/empty)", path);
  snprintf (want[3], 80, "%s(b\x1b[2J)", path);
  if (mm_input_open (path, &in) < 0)
    return 0;
  good = member_is (in, want[0], text, sizeof text, 10000) && member_is (in, want[1], "\xe6\x96\x87", 3, 10000)
         && member_is (in, want[2], "", 0, 10000) && member_is (in, want[3], "b", 1, 10000);
  return ends (in) && good;
}

static void
test_archives (void)
{
  static const struct
  {
    int format;
    const char *name;
  } formats[] = {
    { ARCHIVE_FORMAT_TAR_USTAR, "ustar" }, { ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, "pax" },
    { ARCHIVE_FORMAT_TAR_GNUTAR, "gnutar" }, { ARCHIVE_FORMAT_ZIP, "zip" },
  };
  struct mm_input *in = NULL;
  bool more;

  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    {
      char name[80];

      make_archive ("archive", formats[i].format, ARCHIVE_FILTER_NONE, 5, names, contents, sizes);
      snprintf (name, sizeof name, "%s: its files in order", formats[i].name);
      ok (is_archive ("archive"), name);
      make_archive ("archive", formats[i].format, ARCHIVE_FILTER_ZSTD, 5, names, contents, sizes);
      snprintf (name, sizeof name, "%s, compressed", formats[i].name);
      ok (is_archive ("archive"), name);
    }
  /* 7zip's writer puts empty entries last, and cannot name Chinese files in the C locale.  */
  make_archive ("archive", ARCHIVE_FORMAT_7ZIP, ARCHIVE_FILTER_NONE, 2,
                (const char *[]) { "dir/a.txt", "b" }, (const char *[]) { text, "b" },
                (size_t[]) { sizeof text, 1 });
  ok (mm_input_open ("archive", &in) == MM_OK && member_is (in, "archive(dir/a.txt)", text, sizeof text, 10000)
      && member_is (in, "archive(b)", "b", 1, 10), "7zip");
  ok (ends (in), "and no more");
  make_archive ("archive", ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE, 5, names, contents, sizes);
  ok (mm_input_open ("archive", &in) == MM_OK && mm_input_next (in, &more) == MM_OK && more
      && member_is (in, "archive(dir/\xe6\x96\x87.txt)", "\xe6\x96\x87", 3, 10), "a member may be skipped");
  mm_input_close (in);
  make_archive ("archive", ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE, 1, names, contents, sizes);
  ok (mm_input_open ("archive", &in) == MM_OK && ends (in), "an archive without files has no members");
}

static void
test_nested (void)
{
  struct mm_input *in = NULL;
  size_t gz_size, tar_size;
  char *gz, *tar;

  make_one ("a.gz", ARCHIVE_FILTER_GZIP, text, sizeof text);
  gz = slurp ("a.gz", &gz_size);
  make_archive ("n.tar", ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_XZ, 2, (const char *[]) { "a.gz", "b" },
                (const char *[]) { gz, "b" }, (size_t[]) { gz_size, 1 });
  ok (mm_input_open ("n.tar", &in) == MM_OK && member_is (in, "n.tar(a.gz)", text, sizeof text, 9999)
      && member_is (in, "n.tar(b)", "b", 1, 9), "a compressed member is decompressed");
  ok (ends (in), "and the archive ends");
  tar = slurp ("n.tar", &tar_size);
  make_archive ("nn.zip", ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, 2, (const char *[]) { "n.tar", "c" },
                (const char *[]) { tar, "c" }, (size_t[]) { tar_size, 1 });
  ok (mm_input_open ("nn.zip", &in) == MM_OK
      && member_is (in, "nn.zip(n.tar)(a.gz)", text, sizeof text, 9999)
      && member_is (in, "nn.zip(n.tar)(b)", "b", 1, 9) && member_is (in, "nn.zip(c)", "c", 1, 9),
      "an archive in an archive");
  ok (ends (in), "and both end");
  make_archive ("cut.tar", ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE, 1, (const char *[]) { "a.gz" },
                (const char *[]) { gz }, (size_t[]) { gz_size - 100 });
  ok (read_all ("cut.tar") == MM_EFORMAT && says ("cut.tar(a.gz): "), "a damaged member is named");
  for (int i = 0; i < 7; i++)
    {
      free (tar);
      tar = slurp ("n.tar", &tar_size);
      make_archive ("n.tar", ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE, 1, (const char *[]) { "t" },
                    (const char *[]) { tar }, &tar_size);
    }
  ok (read_all ("n.tar") == MM_EUNSUP && says ("nested too deep"), "archives nested seven deep");
  free (gz);
  free (tar);
}

/* Flip a bit of about 60 bytes, one at a time, past the header, whose time and name are not checked.  */
static int
every_flip_is_found (char *data, size_t size)
{
  for (size_t i = 32; i < size; i += size - i < 12 ? 1 : size / 48)
    {
      mm_status st;

      data[i] ^= 16;
      scratch_put ("flip", data, size);
      st = read_all ("flip");
      data[i] ^= 16;
      if (st != MM_EFORMAT || !says ("flip: "))
        {
          printf ("# byte %zu of %zu: %s\n", i, size, mm_error_message ());
          return 0;
        }
    }
  return 1;
}

/* Bytes left of the present member.  */
static size_t
read_size (struct mm_input *in)
{
  static char data[4096];
  size_t n = 0, got;

  while (mm_input_read (in, data, sizeof data, &got) == MM_OK && got > 0)
    n += got;
  return n;
}

static void
test_errors (void)
{
  static const char zeros[600] = { [512] = 't', 'e', 'x', 't', '\n' };
  struct mm_input *in = NULL;
  char *data, *two;
  size_t size, got;
  bool more;

  ok (mm_input_open ("missing", &in) == MM_ENOENT && says ("missing") && !in, "a missing file");
  ok (mm_input_open (".", &in) == MM_EIO && says ("folder") && !in, "a folder");
  make_archive ("whole", ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE, 5, names, contents, sizes);
  data = slurp ("whole", &size);
  scratch_put ("cut", data, 50000);
  ok (read_all ("cut") == MM_EFORMAT && says ("cut(dir/a.txt): "), "an archive cut off in a member");
  memset (data + 512, 'x', 512);
  scratch_put ("cut", data, size);
  ok (read_all ("cut") == MM_EFORMAT && says ("cut"), "an archive with a damaged header");
  free (data);
  make_archive ("whole", ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE, 5, names, contents, sizes);
  data = slurp ("whole", &size);
  data[50000] ^= 1;
  scratch_put ("bad", data, size);
  ok (read_all ("bad") == MM_EFORMAT && says ("bad(dir/a.txt): "), "a bit flipped in a zip file");
  free (data);
  make_one ("whole", ARCHIVE_FILTER_XZ, text, sizeof text);
  data = slurp ("whole", &size);
  data[size / 2] ^= 1;
  scratch_put ("bad", data, size);
  ok (read_all ("bad") == MM_EFORMAT && says ("bad: "), "a bit flipped in an xz file");
  free (data);
  make_one ("whole", ARCHIVE_FILTER_GZIP, text, sizeof text);
  data = slurp ("whole", &size);
  ok (every_flip_is_found (data, size), "a bit flipped in a gzip file, wherever it is");
  two = malloc (2 * size + 2);
  memcpy (two, data, size);
  memcpy (two + size, data, size);
  memcpy (two + 2 * size, "\0", 2);
  scratch_put ("two", two, 2 * size);
  ok (mm_input_open ("two", &in) == MM_OK && mm_input_next (in, &more) == MM_OK && more
      && read_size (in) == 2 * sizeof text, "two gzip streams are one member");
  mm_input_close (in);
  scratch_put ("two", two, 2 * size + 2);
  ok (read_all ("two") == MM_OK, "zeros may follow");
  two[2 * size + 1] = 'x';
  scratch_put ("two", two, 2 * size + 2);
  ok (read_all ("two") == MM_EFORMAT && says ("two: data that is not compressed follows"), "nothing else");
  free (two);
  free (data);
  ok (mm_input_open ("text", &in) == MM_OK && mm_input_read (in, &size, 1, &got) == MM_OK && got == 0,
      "nothing before the first member");
  mm_input_close (in);
  ok (mm_input_open ("empty", &in) == MM_OK && mm_input_next (in, &more) == MM_OK && more
      && mm_input_read (in, &size, 1, &got) == MM_OK && got == 0, "nothing in an empty member");
  mm_input_close (in);
  scratch_put ("zeros", zeros, sizeof zeros);
  ok (read_all ("zeros") == MM_EFORMAT && says ("zeros: begins with zero bytes"), "text behind a block of zeros");
}

int
main (void)
{
  make_text ();
  scratch_enter ();
  test_plain ();
  test_stdin ();
  test_filters ();
  test_archives ();
  test_nested ();
  test_errors ();
  return tap_done ();
}
