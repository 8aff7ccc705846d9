# Both kinds of test speak TAP; `make check` runs them in parallel.
TEST_EXTENSIONS = .sh
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_DRIVER = $(TAP_DRIVER)
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
  PATH='$(abs_top_builddir)':"$$PATH"; export PATH; \
  srcdir='$(abs_srcdir)'; export srcdir; \
  builddir='$(abs_builddir)'; export builddir; \
  simd_sources='$(simd_sources)'; export simd_sources; \
  tools='$(tools)'; export tools; \
  ASAN_OPTIONS="allocator_may_return_null=1:$$ASAN_OPTIONS"; export ASAN_OPTIONS;

unit_tests =
cli_tests = tests/syntax.sh
check_LIBRARIES =

include tests/unit/local.mk
include tests/cli/local.mk
include tests/interop/local.mk
include tests/fault/local.mk
include tests/mpi/local.mk
include tests/fuzz/local.mk

# The reference run, whose digest is nano.digest.
check_PROGRAMS += tests/digest
tests_digest_SOURCES = tests/digest.c

# Data for the tests of tools.
check_PROGRAMS += tests/make-dataset
tests_make_dataset_SOURCES = tests/make-dataset.c

check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests) $(cli_tests)
EXTRA_DIST += $(cli_tests) tests/tap.sh tests/tap.h tests/digest.sh tests/nano.digest tests/runs.sh

# What HACKING asks for and a script can check; also one of the tests.
syntax-check:
	@tools='$(tools)'; srcdir='$(abs_srcdir)'; export tools srcdir; \
	$(SHELL) $(srcdir)/tests/syntax.sh | $(AWK) '{ print } /^not ok/ { bad = 1 } END { exit bad }'
.PHONY: syntax-check
