lib_libcore_a_SOURCES += \
  lib/minimind/schedule.h \
  lib/minimind/optimizer.h \
  lib/minimind/checkpoint.h \
  lib/minimind/train.h
