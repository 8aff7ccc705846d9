/* sources.c -- the inputs of the command line, sorted into sources.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <minimind/cli.h>
#include <minimind/memory.h>

#include "sources.h"

mm_status
sources_new (struct pack_config *c, size_t most)
{
  mm_status st = mm_alloc ("inputs", most, sizeof *c->inputs, &c->inputs);

  return st < 0 ? st : mm_alloc ("inputs", most, sizeof *c->weights, &c->weights);
}

/* A source of N more inputs, before the others if FIRST.  */
static struct pack_input *
add_source (struct pack_config *c, size_t n, double weight, bool first)
{
  size_t source = first ? 0 : c->n_sources;
  struct pack_input *at = first ? c->inputs : c->inputs + c->n_inputs;

  if (first)
    {
      memmove (c->inputs + n, c->inputs, c->n_inputs * sizeof *c->inputs);
      memmove (c->weights + 1, c->weights, c->n_sources * sizeof *c->weights);
      for (size_t i = n; i < n + c->n_inputs; i++)
        c->inputs[i].source++;
    }
  for (size_t i = 0; i < n; i++)
    at[i].source = source;
  c->weights[source] = weight;
  c->n_inputs += n;
  c->n_sources++;
  return at;
}

void
sources_add_mix (struct argp_state *state, struct pack_config *c, char *arg)
{
  char *colon = strrchr (arg, ':');
  double weight;

  if (!colon || colon == arg)
    argp_error (state, "--mix=%s: want FILE:WEIGHT", arg);
  weight = mm_cli_number (state, "mix", colon + 1, 1e-6, 1e6);
  *colon = '\0';
  add_source (c, 1, weight, false)->path = arg;
}

void
sources_add_args (struct pack_config *c, char **args, size_t n)
{
  struct pack_input *inputs = add_source (c, n, 1, true);

  for (size_t i = 0; i < n; i++)
    inputs[i].path = args[i];
}

void
sources_free (struct pack_config *c)
{
  free (c->inputs);
  free (c->weights);
}
