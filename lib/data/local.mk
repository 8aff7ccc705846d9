lib_libcore_a_SOURCES += \
  lib/minimind/tokens.h  lib/data/tokens_read.c  lib/data/tokens_write.c lib/data/tokens_foreign.c \
  lib/minimind/dataset.h lib/data/dataset_read.c lib/data/dataset_write.c \
  lib/minimind/batch.h   lib/data/batch.c lib/data/order.c lib/data/loader.c \
  lib/data/behind.h lib/data/behind.c lib/data/ids.h lib/data/layout.h lib/data/tokens_file.h
