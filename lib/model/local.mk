lib_libcore_a_SOURCES += \
  lib/minimind/model_config.h \
  lib/minimind/model.h \
  lib/minimind/lora.h

lib_libcore_a_SOURCES += \
  lib/model/impl.h \
  lib/model/config.c \
  lib/model/config_read.c \
  lib/model/params.c \
  lib/model/model.c \
  lib/model/weights.c \
  lib/model/folder.c \
  lib/model/forward.c \
  lib/model/backward.c \
  lib/model/adapter.c \
  lib/model/adapter_config.c \
  lib/model/lora.c \
  lib/model/lora_pass.c \
  lib/model/pass.c \
  lib/model/session.c \
  lib/model/sampling.c
