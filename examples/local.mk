EXTRA_DIST += examples/tales.awk examples/dialogues.awk examples/identity.awk examples/tokenizer.c \
  examples/pipeline/Makefile examples/pipeline/config.json examples/pipeline/digests.sha256
