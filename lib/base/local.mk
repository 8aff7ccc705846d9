lib_libcore_a_SOURCES += \
  lib/minimind/error.h \
  lib/minimind/cli.h \
  lib/minimind/log.h \
  lib/minimind/memory.h \
  lib/minimind/thread.h \
  lib/minimind/random.h \
  lib/minimind/elementary.h \
  lib/minimind/hash.h

lib_libcore_a_SOURCES += \
  lib/base/error.c \
  lib/base/cli.c \
  lib/base/version.c lib/base/version.h \
  lib/base/log.c \
  lib/base/memory.c \
  lib/base/thread.c \
  lib/base/random.c \
  lib/base/normal.c \
  lib/base/hash.c \
  lib/base/elementary_double.h \
  lib/base/philox.h \
  lib/base/elementary.c
