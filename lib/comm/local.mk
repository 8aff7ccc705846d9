lib_libcore_a_SOURCES += \
  lib/minimind/comm.h \
  lib/minimind/topology.h \
  lib/comm/topology.c \
  lib/comm/impl.h \
  lib/comm/comm.c \
  lib/comm/check.c \
  lib/comm/environment.c \
  lib/comm/patience.c \
  lib/comm/sum.c \
  lib/comm/self.c \
  lib/comm/window.h \
  lib/comm/window.c \
  lib/comm/shm.c
