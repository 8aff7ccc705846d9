EXTRA_DIST += examples/tales.awk examples/tokenizer.c
