lib_libcore_a_SOURCES += \
  lib/minimind/telemetry.h \
  lib/telemetry/tfevents.h \
  lib/telemetry/tfevents.c \
  lib/telemetry/runlog.c
