# Several ranks: the launcher, the same bits for any number of ranks, what happens when one is lost.
long_tests += tests/mpi/ranks.sh tests/mpi/mpi.sh
cli_tests += tests/mpi/bench-allreduce.sh
cli_tests += tests/mpi/launch.sh
cli_tests += tests/mpi/sft.sh
cli_tests += tests/mpi/hosts.sh
EXTRA_DIST += tests/mpi/ranks-lib.sh tests/mpi/tsan.sh

# A build of its own with ThreadSanitizer, without MPI, whose libraries are not made for it; what has threads.  MPI's
# place is taken by memory that ranks share: each process is watched by itself.
tsan_tests = tests/unit/thread tests/unit/comm tests/unit/loader tests/unit/ranks tests/mpi/tsan.sh
tsan:
	$(MKDIR_P) tsan
	cd tsan && { test -f Makefile || $(abs_srcdir)/configure -q --enable-tsan --with-mpi=no CC='$(CC)'; }
	cd tsan && $(MAKE) $(AM_MAKEFLAGS) all && $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(tsan_tests)'
clean-local: clean-tsan
clean-tsan:
	rm -rf tsan
.PHONY: tsan clean-tsan
