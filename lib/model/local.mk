lib_libcore_a_SOURCES += \
  lib/minimind/model_config.h \
  lib/minimind/model.h
lib_libcore_a_SOURCES += lib/model/sampling.c
