# One program a header: tests/unit/NAME.c; list it here.
