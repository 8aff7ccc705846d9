# A short run of every fuzzing target, with a driver of our own in place of libFuzzer: under sanitizers too, where
# the build has them.
fuzz_short = tests/fuzz/adapter tests/fuzz/archive tests/fuzz/chat tests/fuzz/config tests/fuzz/dataset \
  tests/fuzz/documents tests/fuzz/json tests/fuzz/manifest tests/fuzz/ranks tests/fuzz/rows \
  tests/fuzz/safetensors tests/fuzz/shards tests/fuzz/tokenizer tests/fuzz/trainer
check_PROGRAMS += $(fuzz_short)
tests_fuzz_adapter_SOURCES = fuzz/adapter.c tests/fuzz/driver.c
tests_fuzz_archive_SOURCES = fuzz/archive.c tests/fuzz/driver.c
tests_fuzz_chat_SOURCES = fuzz/chat.c tests/fuzz/driver.c
tests_fuzz_config_SOURCES = fuzz/config.c tests/fuzz/driver.c
tests_fuzz_dataset_SOURCES = fuzz/dataset.c tests/fuzz/driver.c
tests_fuzz_documents_SOURCES = fuzz/documents.c tests/fuzz/driver.c
tests_fuzz_json_SOURCES = fuzz/json.c tests/fuzz/driver.c
tests_fuzz_manifest_SOURCES = fuzz/manifest.c tests/fuzz/driver.c
tests_fuzz_ranks_SOURCES = fuzz/ranks.c tests/fuzz/driver.c
tests_fuzz_rows_SOURCES = fuzz/rows.c tests/fuzz/driver.c
tests_fuzz_safetensors_SOURCES = fuzz/safetensors.c tests/fuzz/driver.c
tests_fuzz_shards_SOURCES = fuzz/shards.c tests/fuzz/driver.c
tests_fuzz_tokenizer_SOURCES = fuzz/tokenizer.c tests/fuzz/driver.c
tests_fuzz_trainer_SOURCES = fuzz/trainer.c tests/fuzz/driver.c
cli_tests += tests/fuzz/short.sh
