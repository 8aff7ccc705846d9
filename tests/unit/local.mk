# One program a header: tests/unit/NAME.c; list it here.
unit_tests += tests/unit/elementary
