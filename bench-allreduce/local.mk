bin_PROGRAMS += minimind-bench-allreduce
tools += minimind-bench-allreduce
minimind_bench_allreduce_SOURCES = \
  bench-allreduce/main.c bench-allreduce/bench-allreduce.h bench-allreduce/bench-allreduce.c \
  bench-allreduce/measure.c bench-allreduce/mpi.c bench-allreduce/print.c \
  bench-allreduce/predict.c bench-allreduce/predict_cli.c bench-allreduce/plot.c
pages += man/minimind-bench-allreduce.1
EXTRA_DIST += man/bench-allreduce.h2m

if HAVE_HELP2MAN
man/minimind-bench-allreduce.1: minimind-bench-allreduce$(EXEEXT) man/bench-allreduce.h2m
	$(make_page) --include=$(srcdir)/man/bench-allreduce.h2m ./minimind-bench-allreduce$(EXEEXT)
endif
