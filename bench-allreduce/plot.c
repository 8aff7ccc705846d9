/* plot.c -- the prediction as a picture, by gnuplot.
   SPDX-License-Identifier: Apache-2.0  */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <minimind/files.h>

#include "bench-allreduce.h"

enum { SVG_LIMIT = 16 << 20 };

/* gnuplot's own commands: speed-up on the left axis, share on the right one.  */
static void
write_commands (FILE *f, const char *path, const char *title, const struct bench_point *points, size_t n)
{
  fprintf (f, "set terminal svg size 800,500 background rgb 'white'\nset output '%s'\n", path);
  fprintf (f, "set title '%s: speed-up and share of the reduction'\nset key left top\nset grid\n", title);
  fputs ("set logscale x 2\nset logscale y 2\nset xlabel 'ranks'\nset ylabel 'speed-up'\n"
         "set y2label 'share of the reduction, %'\nset y2range [0:100]\nset y2tics\nset ytics nomirror\n"
         "$points << END\n", f);
  for (size_t i = 0; i < n; i++)
    {
      double exact = points[i].compute + points[i].reduction[0], fast = points[i].compute + points[i].reduction[1];

      fprintf (f, "%d %.6g %.6g %.6g %.6g\n", points[i].ranks, points[0].compute / exact, points[0].compute / fast,
               100 * points[i].reduction[0] / exact, 100 * points[i].reduction[1] / fast);
    }
  fputs ("END\nplot x with lines dashtype 3 linecolor rgb 'gray' title 'as many times as ranks', "
         "$points using 1:2 with linespoints title 'exact', $points using 1:3 with linespoints title 'fast', "
         "$points using 1:4 axes x1y2 with lines dashtype 2 title 'exact, share', "
         "$points using 1:5 axes x1y2 with lines dashtype 2 title 'fast, share'\n", f);
}

/* Put what gnuplot drew in place, whole or not at all.  */
static mm_status
publish (const char *from, const char *path)
{
  struct mm_output *out;
  char *data;
  size_t size;
  mm_status st = mm_read_file (from, SVG_LIMIT, &data, &size);

  if (st < 0)
    return st;
  st = mm_output_open (path, true, &out);
  if (st == MM_OK)
    {
      st = mm_output_write (out, data, size);
      if (st < 0)
        mm_output_abort (out);
      else
        st = mm_output_commit (out);
    }
  free (data);
  return st;
}

mm_status
bench_plot (const char *path, const char *title, const struct bench_point *points, size_t n)
{
  const char *folder = getenv ("TMPDIR");
  char picture[4096];
  int fd, status;
  FILE *f;
  mm_status st;

  snprintf (picture, sizeof picture, "%s/minimind-plot-XXXXXX", folder && *folder ? folder : "/tmp");
  fd = mkstemp (picture);
  if (fd < 0)
    return mm_fail_errno (picture);
  close (fd);
  f = popen ("gnuplot 2>&1 >/dev/null", "w");
  if (!f)
    st = mm_fail_errno ("gnuplot");
  else
    {
      write_commands (f, picture, title, points, n);
      status = pclose (f);
      st = status == 0 ? publish (picture, path)
           : WIFEXITED (status) && WEXITSTATUS (status) == 127
             ? mm_fail (MM_EUNSUP, "--plot: there is no gnuplot")
             : mm_fail (MM_EIO, "--plot: gnuplot failed");
    }
  unlink (picture);
  return st;
}
