lib_libcore_a_SOURCES += \
  lib/minimind/tokenizer.h \
  lib/minimind/bpe_trainer.h
