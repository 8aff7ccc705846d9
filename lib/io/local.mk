lib_libcore_a_SOURCES += \
  lib/minimind/files.h \
  lib/minimind/json.h \
  lib/minimind/safetensors.h \
  lib/minimind/input.h \
  lib/io/fd.h \
  lib/io/gunzip.h \
  lib/io/hash_along.h \
  lib/io/safetensors_header.h

lib_libcore_a_SOURCES += \
  lib/io/fd.c \
  lib/io/temporary.c \
  lib/io/files.c \
  lib/io/paths.c \
  lib/io/output_dir.c \
  lib/io/json.c \
  lib/io/json_text.c \
  lib/io/dtype.c \
  lib/io/hash_along.c \
  lib/io/safetensors_read.c \
  lib/io/safetensors_write.c \
  lib/io/gunzip.c \
  lib/io/input.c
