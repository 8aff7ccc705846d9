# Several ranks: the launcher, the same bits for any number of ranks, what happens when one is lost.
long_tests += tests/mpi/ranks.sh tests/mpi/mpi.sh
cli_tests += tests/mpi/bench-allreduce.sh
cli_tests += tests/mpi/launch.sh
cli_tests += tests/mpi/sft.sh
cli_tests += tests/mpi/hosts.sh
EXTRA_DIST += tests/mpi/ranks-lib.sh
