# One script a subject: tests/cli/NAME.sh; list it here.
cli_tests += tests/cli/help.sh
cli_tests += tests/cli/tales.sh
cli_tests += tests/cli/digest.sh
cli_tests += tests/cli/compilers.sh
cli_tests += tests/cli/aarch64.sh
cli_tests += tests/cli/ckpt-inspect.sh
check_PROGRAMS += tests/cli/samples
cli_tests += tests/cli/pack.sh
EXTRA_DIST += tests/cli/said.sh
check_PROGRAMS += tests/make-input
tests_make_input_SOURCES = tests/make-input.c
cli_tests += tests/cli/pretrain.sh
cli_tests += tests/cli/resume.sh
cli_tests += tests/cli/eval.sh
cli_tests += tests/cli/generate.sh
cli_tests += tests/cli/train-tokenizer.sh
cli_tests += tests/cli/tokenize.sh
