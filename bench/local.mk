# `make bench' builds and runs the benchmarks; they are not part of `make check', and what they compare with
# is loaded at run time where it is installed.
bench_programs = bench/gemm bench/train bench/steps bench/growth bench/streams bench/generate bench/start bench/pack bench/documents bench/memory bench/text
EXTRA_PROGRAMS += $(bench_programs)
CLEANFILES += $(bench_programs)

bench_gemm_SOURCES = bench/gemm.c bench/bench.h
bench_gemm_LDADD = $(LDADD) -ldl
bench_train_SOURCES = bench/train.c bench/bench.h bench/ours.h bench/peer.h
bench_steps_SOURCES = bench/steps.c bench/bench.h bench/ours.h
bench_generate_SOURCES = bench/generate.c bench/bench.h bench/ours.h bench/peer.h
bench_growth_SOURCES = bench/growth.c bench/bench.h bench/ours.h
bench_streams_SOURCES = bench/streams.c bench/bench.h
bench_start_SOURCES = bench/start.c bench/bench.h
bench_documents_SOURCES = bench/documents.c bench/bench.h
bench_pack_SOURCES = bench/pack.c bench/bench.h
bench_memory_SOURCES = bench/memory.c bench/bench.h
bench_text_SOURCES = bench/text.c bench/bench.h
EXTRA_DIST += bench/llama_peer.py bench/train_torch.py bench/text_peers.py bench/make-text.py

bench_scripts = bench/vocab.sh bench/vocab_memory.sh bench/comm.sh
bench_tools = bench/vocab_text bench/comm
EXTRA_PROGRAMS += $(bench_tools)
CLEANFILES += $(bench_tools)
bench_vocab_text_SOURCES = bench/vocab_text.c bench/bench.h
bench_comm_SOURCES = bench/comm.c bench/bench.h bench/peer.h
EXTRA_DIST += $(bench_scripts) bench/vocab_peers.py bench/comm_torch.py

bench: $(bench_programs) $(bench_tools) $(bin_PROGRAMS) tests/make-dataset tests/peak-memory
	@for b in $(bench_programs); do echo "== $$b"; srcdir='$(srcdir)' ./$$b || exit 1; done
	@for b in $(bench_scripts); do echo "== $$b"; srcdir='$(srcdir)' sh $(srcdir)/$$b || exit 1; done

.PHONY: bench
