lib_libcore_a_SOURCES += \
  lib/minimind/comm.h \
  lib/comm/impl.h \
  lib/comm/comm.c \
  lib/comm/self.c
