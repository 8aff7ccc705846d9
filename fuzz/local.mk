# make fuzz: a build of its own by clang, in fuzz/build, with one program for each parser.
# A build inside the source tree has to be cleaned first (make distclean), as for any second build.  Run one as
#   fuzz/build/fuzz/tokenizer -max_total_time=300 FOLDER-OF-EXAMPLES
# tests/fuzz/short.sh, one of the tests, makes such examples and runs all targets for some seconds without clang.
fuzz_programs = fuzz/safetensors fuzz/tokenizer fuzz/documents fuzz/config fuzz/dataset fuzz/trainer \
  fuzz/manifest fuzz/shards fuzz/ranks fuzz/json fuzz/rows fuzz/archive \
  fuzz/chat fuzz/adapter
EXTRA_PROGRAMS += $(fuzz_programs)
EXTRA_DIST += fuzz/fuzz.h
fuzz_safetensors_SOURCES = fuzz/safetensors.c
fuzz_safetensors_LDFLAGS = -fsanitize=fuzzer
fuzz_tokenizer_SOURCES = fuzz/tokenizer.c
fuzz_tokenizer_LDFLAGS = -fsanitize=fuzzer
fuzz_documents_SOURCES = fuzz/documents.c
fuzz_documents_LDFLAGS = -fsanitize=fuzzer
fuzz_config_SOURCES = fuzz/config.c
fuzz_config_LDFLAGS = -fsanitize=fuzzer
fuzz_shards_SOURCES = fuzz/shards.c
fuzz_shards_LDFLAGS = -fsanitize=fuzzer
fuzz_ranks_SOURCES = fuzz/ranks.c
fuzz_ranks_LDFLAGS = -fsanitize=fuzzer
fuzz_dataset_SOURCES = fuzz/dataset.c
fuzz_dataset_LDFLAGS = -fsanitize=fuzzer
fuzz_trainer_SOURCES = fuzz/trainer.c
fuzz_trainer_LDFLAGS = -fsanitize=fuzzer
fuzz_manifest_SOURCES = fuzz/manifest.c
fuzz_manifest_LDFLAGS = -fsanitize=fuzzer
fuzz_json_SOURCES = fuzz/json.c
fuzz_json_LDFLAGS = -fsanitize=fuzzer
fuzz_rows_SOURCES = fuzz/rows.c
fuzz_rows_LDFLAGS = -fsanitize=fuzzer
fuzz_archive_SOURCES = fuzz/archive.c
fuzz_archive_LDFLAGS = -fsanitize=fuzzer
fuzz_chat_SOURCES = fuzz/chat.c
fuzz_chat_LDFLAGS = -fsanitize=fuzzer
fuzz_adapter_SOURCES = fuzz/adapter.c
fuzz_adapter_LDFLAGS = -fsanitize=fuzzer

fuzz:
	@command -v clang >/dev/null || { echo "make fuzz needs clang" >&2; exit 1; }
	$(MKDIR_P) fuzz/build
	cd fuzz/build && { test -f Makefile || $(abs_srcdir)/configure -q CC="$(FUZZ_CC)" \
	  CFLAGS="-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined"; }
	cd fuzz/build && $(MAKE) $(AM_MAKEFLAGS) $(fuzz_programs)
.PHONY: fuzz
FUZZ_CC = clang

clean-local: clean-fuzz
clean-fuzz:
	rm -rf fuzz/build
.PHONY: clean-fuzz
