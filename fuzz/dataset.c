/* dataset.c -- fuzzing target: dataset.json, in a folder that holds nothing else.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <minimind/dataset.h>

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
  struct mm_dataset *d;
  FILE *f;

  if (!path[0])
    {
      if (!mkdtemp (folder))
        abort ();
      snprintf (path, sizeof path, "%s/dataset.json", folder);
      atexit (clean);
    }
  f = fopen (path, "w");
  if (!f || fwrite (data, 1, size, f) != size || fclose (f) != 0)
    abort ();
  if (mm_dataset_open (folder, false, &d) == MM_OK)
    mm_dataset_close (d);
  return 0;
}
