lib_libcore_a_SOURCES += \
  lib/minimind/tokens.h \
  lib/minimind/dataset.h \
  lib/minimind/batch.h
