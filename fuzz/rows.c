/* rows.c -- fuzzing target: rows of CSV and TSV, which must not depend on where reads end.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <string.h>

#include "../lib/text/documents_csv.h"
#include "fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  const char *text = (const char *) data + 1;
  struct csv_reader whole = { .columns = 0 }, pieces;
  char *out;

  if (size-- == 0)
    return 0;
  whole.separator = data[0] % 2 ? ',' : '\t';
  whole.column = data[0] / 2 % 4;
  pieces = whole;
  for (size_t at = 0; at < size; at += whole.at)
    {
      size_t come = 0;

      csv_begin (&whole);
      csv_begin (&pieces);
      if (!csv_scan (&whole, text + at, size - at, true) || whole.at == 0)
        abort ();
      while (!csv_scan (&pieces, text + at, come, come == size - at))
        {
          if (come == size - at)
            abort ();
          come++;
        }
      if (whole.at != pieces.at || whole.fields != pieces.fields || whole.problem != pieces.problem
          || (whole.fields > whole.column && (whole.value != pieces.value || whole.value_end != pieces.value_end
                                              || whole.value_doubled != pieces.value_doubled)))
        abort ();
      if (whole.state == CSV_QUOTED)
        return 0;
      if (whole.fields > whole.column && whole.value_end > whole.value)
        {
          if (whole.value_end > whole.at)
            abort ();
          out = malloc (whole.value_end - whole.value);
          csv_unquote (text + at + whole.value, whole.value_end - whole.value, out);
          free (out);
        }
    }
  return 0;
}
