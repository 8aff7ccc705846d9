lib_libcore_a_SOURCES += \
  lib/minimind/schedule.h \
  lib/minimind/optimizer.h \
  lib/minimind/checkpoint.h \
  lib/minimind/train.h

lib_libcore_a_SOURCES += \
  lib/train/schedule.c \
  lib/train/optimizer.c \
  lib/train/plan.h \
  lib/train/plan.c \
  lib/train/state.h \
  lib/train/state.c \
  lib/train/signals.h \
  lib/train/signals.c \
  lib/train/report.h \
  lib/train/report.c \
  lib/train/options.c \
  lib/train/trainer.h \
  lib/train/trainer.c \
  lib/train/shape.c \
  lib/train/ranks.c \
  lib/train/reduce.c \
  lib/train/balance.h \
  lib/train/balance.c \
  lib/train/whole.c \
  lib/train/resume.c \
  lib/train/save.c \
  lib/train/validate.c \
  lib/train/sample.c \
  lib/train/describe.c \
  lib/train/train.c \
  lib/train/manifest.h \
  lib/train/manifest.c \
  lib/train/run_folder.h \
  lib/train/run_folder.c \
  lib/train/checkpoint.c
