/* bench-allreduce.h -- how fast the ranks add up, and what that means for training.
   SPDX-License-Identifier: Apache-2.0  */

#ifndef BENCH_ALLREDUCE_H
#define BENCH_ALLREDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <minimind/cli.h>
#include <minimind/comm.h>

enum bench_dtype { BENCH_F32, BENCH_BF16, BENCH_I64, BENCH_DTYPES };

enum bench_algorithm
{
  BENCH_SUM,                    /* all-reduce in memory that peers reach, as training does it */
  BENCH_COPY,                   /* all-reduce of other memory */
  BENCH_SCATTER,                /* reduce-scatter, then all-gather, as --zero=1 does it */
  BENCH_MPI,                    /* the MPI library's own MPI_Allreduce, in place */
  BENCH_LIMIT,                  /* no communication: a loop that reads and writes as much memory as the sum must */
  BENCH_MEMCPY,                 /* no communication: a copy of the buffer */
  BENCH_ALGORITHMS
};
#define BENCH_ALL (~0u)         /* of algorithms or types: as many as there are here */

struct bench_config
{
  const char *transport;
  double timeout;               /* seconds */
  uint64_t min_bytes, max_bytes;
  double factor;                /* from one size to the next */
  unsigned dtypes, algorithms;  /* sets of bits */
  int iterations;               /* 0: as many as half a second takes */
  bool json;

  const char *predict;          /* a preset, or NULL */
  int ranks_per_node;           /* 0: as many as there are here */
  double link, latency;         /* GB/s of a node's link to others, microseconds; link 0: none */
  double step_seconds;          /* of one rank with the whole batch; 0: measured */
  uint64_t global_batch, micro_batch;
  size_t seq_len;
  const char *plot;             /* an SVG file, or NULL */
  struct mm_compute compute;
};

/* One line of the table.  */
struct bench_result
{
  enum bench_dtype dtype;
  enum bench_algorithm algorithm;
  size_t bytes;                 /* of each rank's buffer */
  int iterations;               /* 0: there is no such sum */
  double seconds, fast, slow;   /* median, 10th and 90th percentile over iterations, of the slowest rank in each */
  bool wrong;                   /* a result was not the sum */
};

/* seconds = latency + bytes / bandwidth, by least squares of the relative error.  */
struct bench_fit
{
  double latency;               /* seconds */
  double bandwidth;             /* bytes a second; 0: no fit */
};

mm_status bench_allreduce (const struct bench_config *c) MM_NODISCARD;

/* ---- predict_cli.c ---- */

/* The options of the prediction; the parser's input is a struct bench_config *.  */
extern const struct argp bench_predict_argp;

/* ---- measure.c ---- */

/* Run ALGORITHM on buffers of BYTES; collective.  MM_EUNSUP where it does not exist here.  */
struct bench_buffers
{
  void *shared, *own;           /* max_bytes each; shared: memory that peers reach where there is such */
  bool shared_is_ours;          /* there is none: to be freed */
  double *times;                /* [BENCH_MAX_ITERATIONS * ranks] */
};
enum { BENCH_MAX_ITERATIONS = 200 };
mm_status bench_buffers_open (struct mm_comm *comm, size_t bytes, struct bench_buffers *b) MM_NODISCARD;
void bench_buffers_close (struct bench_buffers *b);
mm_status bench_measure (struct mm_comm *comm, const struct bench_buffers *b, int iterations,
                         struct bench_result *r) MM_NODISCARD;

/* Is there such an algorithm in this run?  Does it add this type?  */
bool bench_has (struct mm_comm *comm, enum bench_algorithm algorithm);
bool bench_adds (enum bench_dtype dtype, enum bench_algorithm algorithm);

/* ---- mpi.c ---- */

bool bench_mpi_is_there (void);
mm_status bench_mpi_sum (enum bench_dtype dtype, void *data, size_t count) MM_NODISCARD;

/* ---- print.c ---- */

extern const char *const bench_dtype_names[], *const bench_algorithm_names[];   /* NULL ends them */
size_t bench_dtype_size (enum bench_dtype dtype);

/* GB/s, 1e9 bytes: algbw = bytes / seconds, busbw = algbw * 2 (n - 1) / n.  */
double bench_algbw (const struct bench_result *r);
double bench_busbw (const struct bench_result *r, int n);

struct bench_fit bench_fit_of (const struct bench_result *results, size_t n, enum bench_dtype dtype,
                               enum bench_algorithm algorithm);

void bench_print_header (const struct mm_comm *comm);
void bench_print_result (const struct bench_result *r, int ranks, const struct bench_result *limit);
void bench_print_fits (const struct bench_result *results, size_t n);
mm_status bench_print_json (const struct mm_comm *comm, const struct bench_result *results, size_t n) MM_NODISCARD;

/* ---- predict.c ---- */

/* Can RANKS ranks predict what C asks for?  MM_EUSAGE before anything is measured.  */
mm_status bench_predict_check (const struct bench_config *c, int ranks) MM_NODISCARD;

/* Print what a step takes on 1 to 1,024 ranks; collective, as the step is measured on all.  */
mm_status bench_predict (const struct bench_config *c, struct mm_comm *comm, const struct bench_result *results,
                         size_t n) MM_NODISCARD;

/* One rank count of the prediction.  */
struct bench_point
{
  int ranks, nodes;
  uint64_t micro_batches;       /* of the rank that has most */
  double compute;               /* seconds of a step but for the reduction */
  double reduction[2];          /* exact, fast */
};

/* ---- plot.c ---- */

/* Draw speed-up and share of the reduction over ranks into the SVG file PATH with gnuplot.  MM_EUNSUP without gnuplot,
   MM_EIO.  */
mm_status bench_plot (const char *path, const char *title, const struct bench_point *points, size_t n) MM_NODISCARD;

#endif /* BENCH_ALLREDUCE_H */
