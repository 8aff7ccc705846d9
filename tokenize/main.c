/* minimind-tokenize -- documents into token files, and back.
   SPDX-License-Identifier: Apache-2.0

   Reads the command line (options.c) into a struct tokenize_config and calls the one of three works that
   it asks for: tokenize.c, sample.c, decode.c.  */

#include <config.h>

#include <argp.h>

#include <minimind/cli.h>
#include <minimind/thread.h>

#include "tokenize.h"

#define PROGRAM "minimind-tokenize"

int
main (int argc, char **argv)
{
  static struct tokenize_config c;
  mm_status st;

  mm_cli_begin (PROGRAM);
  c.n_threads = mm_cpus_allowed ();
  argp_parse (&tokenize_argp, argc, argv, 0, NULL, &c);
  if (c.decode)
    st = tokenize_decode (&c);
  else if (c.sample)
    st = tokenize_sample (&c);
  else
    st = tokenize (&c);
  return mm_exit_status (PROGRAM, st);
}
