lib_libcore_a_SOURCES += \
  lib/minimind/comm.h
