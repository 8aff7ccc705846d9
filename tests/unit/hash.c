/* hash.c -- SHA-256 against the values of FIPS 180-4's examples.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <minimind/hash.h>

#include "../tap.h"

static const char empty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char million_a[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static char digest[MM_SHA256_TEXT];

static void
test_bytes (void)
{
  ok (mm_sha256_bytes ("", 0, digest) == MM_OK && strcmp (digest, empty) == 0, "nothing");
  ok (mm_sha256_bytes ("abc", 3, digest) == MM_OK && strcmp (digest, abc) == 0, "abc");
}

static void
test_pieces (void)
{
  char piece[1000];
  struct mm_sha256 *h;

  memset (piece, 'a', sizeof piece);
  if (mm_sha256_open (&h) < 0)
    {
      ok (0, "open");
      return;
    }
  for (int i = 0; i < 1000; i++)
    mm_sha256_add (h, piece, sizeof piece);
  mm_sha256_close (h, digest);
  ok (strcmp (digest, million_a) == 0, "a million a, in pieces");
}

static void
test_file (void)
{
  char name[] = "/tmp/minimind-hash.XXXXXX", piece[1000];
  int fd = mkstemp (name), written = 1;

  memset (piece, 'a', sizeof piece);
  for (int i = 0; i < 1000; i++)
    written &= write (fd, piece, sizeof piece) == sizeof piece;
  close (fd);
  ok (written && mm_sha256_file (name, digest) == MM_OK && strcmp (digest, million_a) == 0, "a file");
  unlink (name);
  ok (mm_sha256_file (name, digest) == MM_ENOENT && strstr (mm_error_message (), name),
      "a missing file is named");
  ok (mm_sha256_file ("/", digest) == MM_EIO && strstr (mm_error_message (), "/: "),
      "a folder cannot be read");
}

int
main (void)
{
  test_bytes ();
  test_pieces ();
  test_file ();
  return tap_done ();
}
