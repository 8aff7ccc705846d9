bin_PROGRAMS += minimind-train-tokenizer
tools += minimind-train-tokenizer
minimind_train_tokenizer_SOURCES = \
  train-tokenizer/main.c train-tokenizer/train-tokenizer.c train-tokenizer/train-tokenizer.h \
  train-tokenizer/report.c train-tokenizer/report.h
pages += man/minimind-train-tokenizer.1
EXTRA_DIST += man/train-tokenizer.h2m

if HAVE_HELP2MAN
man/minimind-train-tokenizer.1: minimind-train-tokenizer$(EXEEXT) man/train-tokenizer.h2m
	$(make_page) --include=$(srcdir)/man/train-tokenizer.h2m ./minimind-train-tokenizer$(EXEEXT)
endif
