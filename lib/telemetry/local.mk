lib_libcore_a_SOURCES += \
  lib/minimind/telemetry.h
