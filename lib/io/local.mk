lib_libcore_a_SOURCES += \
  lib/minimind/files.h \
  lib/minimind/json.h \
  lib/minimind/safetensors.h \
  lib/minimind/input.h
