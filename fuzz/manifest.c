/* manifest.c -- fuzzing target: MANIFEST, in a folder that holds nothing else.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/checkpoint.h>

#include "fuzz.h"

static char folder[] = "/tmp/minimind-fuzz.XXXXXX";
static char path[64];

static void
clean (void)
{
  unlink (path);
  rmdir (folder);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  FILE *f;

  if (!path[0])
    {
      if (!mkdtemp (folder))
        abort ();
      snprintf (path, sizeof path, "%s/MANIFEST", folder);
      atexit (clean);
    }
  f = fopen (path, "w");
  if (!f || fwrite (data, 1, size, f) != size || fclose (f) != 0)
    abort ();
  /* It names at least one file, which is not there.  */
  if (mm_checkpoint_verify (folder) == MM_OK)
    abort ();
  return 0;
}
