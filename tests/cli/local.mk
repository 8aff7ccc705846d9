# One script a subject: tests/cli/NAME.sh; list it here.
