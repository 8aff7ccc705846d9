lib_libcore_a_SOURCES += \
  lib/minimind/comm.h \
  lib/minimind/topology.h \
  lib/comm/topology.c \
  lib/comm/impl.h \
  lib/comm/comm.c \
  lib/comm/check.c \
  lib/comm/list.c \
  lib/comm/environment.c \
  lib/comm/parts.c \
  lib/comm/patience.c \
  lib/comm/sum.c \
  lib/comm/self.c \
  lib/comm/window.h \
  lib/comm/window.c \
  lib/comm/shm.c
if HAVE_MPI
lib_libcore_a_SOURCES += lib/comm/mpi.c lib/comm/mpi_hosts.h lib/comm/mpi_hosts.c
else
EXTRA_DIST += lib/comm/mpi.c lib/comm/mpi_hosts.h lib/comm/mpi_hosts.c
endif
