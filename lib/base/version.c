/* version.c -- what was built in, for --version.
   SPDX-License-Identifier: Apache-2.0

   The one file of lib/base that looks above base, because it reports on all of it.  */

#include <config.h>

#include <archive.h>
#include <jansson.h>
#include <openssl/crypto.h>

#include <minimind/backend.h>
#include <minimind/log.h>

#include "version.h"

void
mm_version_print (FILE *stream, struct argp_state *state)
{
  (void) state;
  fprintf (stream, "%s (minimind) " PACKAGE_VERSION "\n", mm_log_get_program ());
  fprintf (stream, "numerics version %d\n", MM_NUMERICS_VERSION);
  fprintf (stream, "backends: %s\n", mm_backend_list ());
  fprintf (stream, "libraries: %s, Jansson %s, %s\n", archive_version_string (),
           jansson_version_str (), OpenSSL_version (OPENSSL_VERSION));
  fputs ("License: Apache-2.0. There is no warranty.\n", stream);
}
