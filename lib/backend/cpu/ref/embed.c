/* embed.c -- rows of the embedding table, and its gradient.
   SPDX-License-Identifier: Apache-2.0  */

#include "real.h"

#include <string.h>

void
REF (embed) (struct real_mat table, const int32_t *ids, struct real_mat y)
{
  for (size_t i = 0; i < y.rows; i++)
    memcpy (real_row (y, i), real_row (table, (size_t) ids[i]), y.cols * sizeof (real));
}

void
REF (embed_grad) (struct real_mat dy, const int32_t *ids, struct real_mat dtable)
{
  for (size_t i = 0; i < dy.rows; i++)
    {
      real *row = real_row (dtable, (size_t) ids[i]);

      for (size_t c = 0; c < dy.cols; c++)
        row[c] = row[c] + real_row (dy, i)[c];
    }
}
