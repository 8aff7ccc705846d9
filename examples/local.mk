EXTRA_DIST += examples/tales.awk
