/* hash.c -- SHA-256 through OpenSSL's EVP.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <minimind/hash.h>
#include <minimind/memory.h>

enum { READ_SIZE = 256 * 1024 };

struct mm_sha256
{
  EVP_MD_CTX *ctx;
};

mm_status
mm_sha256_open (struct mm_sha256 **out)
{
  struct mm_sha256 *h;
  mm_status st = mm_alloc ("SHA-256", 1, sizeof *h, &h);

  *out = NULL;
  if (st < 0)
    return st;
  h->ctx = EVP_MD_CTX_new ();
  if (!h->ctx || EVP_DigestInit_ex (h->ctx, EVP_sha256 (), NULL) != 1)
    {
      EVP_MD_CTX_free (h->ctx);
      free (h);
      return mm_fail (MM_ENOMEM, "SHA-256: OpenSSL could not start a hash");
    }
  *out = h;
  return MM_OK;
}

void
mm_sha256_add (struct mm_sha256 *h, const void *data, size_t size)
{
  int done = EVP_DigestUpdate (h->ctx, data, size);

  assert (done == 1);           /* fails only for a context that was not begun */
  (void) done;
}

void
mm_sha256_take (struct mm_sha256 *h, uint8_t digest[MM_SHA256_SIZE])
{
  /* Without a type the context keeps the one it has: nothing is looked up or allocated.  */
  int done = EVP_DigestFinal_ex (h->ctx, digest, NULL) == 1 && EVP_DigestInit_ex (h->ctx, NULL, NULL) == 1;

  assert (done == 1);
  (void) done;
}

void
mm_sha256_close (struct mm_sha256 *h, char text[MM_SHA256_TEXT])
{
  static const char digits[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  int done = EVP_DigestFinal_ex (h->ctx, digest, &size);

  assert (done == 1 && size == 32);
  (void) done;
  for (unsigned i = 0; i < size; i++)
    {
      text[2 * i] = digits[digest[i] >> 4];
      text[2 * i + 1] = digits[digest[i] & 15];
    }
  text[2 * size] = '\0';
  EVP_MD_CTX_free (h->ctx);
  free (h);
}

mm_status
mm_sha256_bytes (const void *data, size_t size, char text[MM_SHA256_TEXT])
{
  struct mm_sha256 *h;
  mm_status st = mm_sha256_open (&h);

  if (st < 0)
    return st;
  mm_sha256_add (h, data, size);
  mm_sha256_close (h, text);
  return MM_OK;
}

/* Add all that can be read from FD.  */
static mm_status
add_descriptor (struct mm_sha256 *h, int fd, const char *path)
{
  char *buffer;
  ssize_t got;
  mm_status st = mm_alloc (path, READ_SIZE, 1, &buffer);

  if (st < 0)
    return st;
  while ((got = read (fd, buffer, READ_SIZE)) != 0)
    {
      if (got > 0)
        mm_sha256_add (h, buffer, (size_t) got);
      else if (errno != EINTR)
        {
          st = mm_fail_errno (path);
          break;
        }
    }
  free (buffer);
  return st;
}

mm_status
mm_sha256_file (const char *path, char text[MM_SHA256_TEXT])
{
  struct mm_sha256 *h;
  mm_status st;
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    return mm_fail_errno (path);
  st = mm_sha256_open (&h);
  if (st == MM_OK)
    {
      st = add_descriptor (h, fd, path);
      mm_sha256_close (h, text);
    }
  close (fd);
  return st;
}
