lib_libcore_a_SOURCES += \
  lib/minimind/schedule.h \
  lib/minimind/optimizer.h \
  lib/minimind/checkpoint.h \
  lib/minimind/train.h

lib_libcore_a_SOURCES += \
  lib/train/schedule.c \
  lib/train/optimizer.c
