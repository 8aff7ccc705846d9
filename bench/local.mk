# `make bench' builds and runs the benchmarks; they are not part of `make check', and what they compare with
# is loaded at run time where it is installed.
bench_programs = bench/gemm bench/train bench/pack bench/documents
EXTRA_PROGRAMS += $(bench_programs)
CLEANFILES += $(bench_programs)

bench_gemm_SOURCES = bench/gemm.c bench/bench.h
bench_gemm_LDADD = $(LDADD) -ldl
bench_train_SOURCES = bench/train.c bench/bench.h
bench_documents_SOURCES = bench/documents.c bench/bench.h
bench_pack_SOURCES = bench/pack.c bench/bench.h
EXTRA_DIST += bench/train_torch.py

bench: $(bench_programs)
	@for b in $(bench_programs); do echo "== $$b"; srcdir='$(srcdir)' ./$$b || exit 1; done

.PHONY: bench
