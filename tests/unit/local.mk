# One program a header: tests/unit/NAME.c; list it here.
unit_tests += tests/unit/elementary
unit_tests += tests/unit/error
unit_tests += tests/unit/cli
unit_tests += tests/unit/log
unit_tests += tests/unit/memory
unit_tests += tests/unit/thread
unit_tests += tests/unit/random
unit_tests += tests/unit/hash
unit_tests += tests/unit/comm
unit_tests += tests/unit/schedule
unit_tests += tests/unit/plan
unit_tests += tests/unit/batch
unit_tests += tests/unit/order
unit_tests += tests/unit/sampling
unit_tests += tests/unit/ops_rows
tests_unit_ops_rows_SOURCES = tests/unit/ops_rows.c tests/unit/ops.h
