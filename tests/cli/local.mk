# One script a subject: tests/cli/NAME.sh; list it here.
cli_tests += tests/cli/help.sh
cli_tests += tests/cli/tales.sh
