# Several ranks: the launcher, the same bits for any number of ranks, what happens when one is lost.
cli_tests += tests/mpi/launch.sh
cli_tests += tests/mpi/ranks.sh
cli_tests += tests/mpi/mpi.sh
EXTRA_DIST += tests/mpi/ranks-lib.sh
