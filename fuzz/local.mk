# Fuzzing needs clang and flags of its own (see the targets), so `make' leaves them alone.
EXTRA_PROGRAMS += fuzz/safetensors
fuzz_safetensors_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
