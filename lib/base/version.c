/* version.c -- what was built in, for --version.
   SPDX-License-Identifier: Apache-2.0

   The one file of lib/base that looks above base, because it reports on all of it.  */

#include <config.h>

#define PCRE2_CODE_UNIT_WIDTH 8

#include <archive.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <pcre2.h>
#include <utf8proc.h>
#include <xxhash.h>

#include <minimind/backend.h>
#include <minimind/comm.h>
#include <minimind/log.h>

#include "version.h"

#if HAVE_LIBEDIT
#define LIBEDIT ", libedit"
#else
#define LIBEDIT ""
#endif

void
mm_version_print (FILE *stream, struct argp_state *state)
{
  char pcre2[64] = "";
  unsigned xxhash = XXH_versionNumber ();

  (void) state;
  pcre2_config (PCRE2_CONFIG_VERSION, pcre2);
  fprintf (stream, "%s (minimind) " PACKAGE_VERSION "\n", mm_log_get_program ());
  fprintf (stream, "numerics version %d\n", MM_NUMERICS_VERSION);
  fprintf (stream, "backends: %s\n", mm_backend_list ());
  fprintf (stream, "transports: %s\n", mm_comm_list ());
  fprintf (stream, "libraries: %s, Jansson %s, %s, PCRE2 %s, utf8proc %s, xxHash %u.%u.%u" LIBEDIT "\n",
           archive_version_string (), jansson_version_str (), OpenSSL_version (OPENSSL_VERSION), pcre2,
           utf8proc_version (), xxhash / 10000, xxhash / 100 % 100, xxhash % 100);
  fputs ("License: Apache-2.0. There is no warranty.\n", stream);
}
