# What goes wrong outside of the tools; each script's subject stands at its beginning.  Those of long_tests are parts of
# sweeps, which `make check-long' makes whole.
long_tests = tests/fault/kill.sh tests/fault/errors.sh tests/fault/disk.sh tests/fault/signals.sh tests/fault/input.sh
cli_tests += $(long_tests)
cli_tests += tests/fault/rivals.sh
EXTRA_DIST += tests/fault/faults.sh

check-long:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(long_tests)' MM_LONG=1
	$(MAKE) $(AM_MAKEFLAGS) tsan
.PHONY: check-long
