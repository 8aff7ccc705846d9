bin_PROGRAMS += minimind-lora-merge
tools += minimind-lora-merge
minimind_lora_merge_SOURCES = \
  lora-merge/main.c lora-merge/lora-merge.c lora-merge/lora-merge.h lora-merge/probe.c
pages += man/minimind-lora-merge.1
EXTRA_DIST += man/lora-merge.h2m

if HAVE_HELP2MAN
man/minimind-lora-merge.1: minimind-lora-merge$(EXEEXT) man/lora-merge.h2m
	$(make_page) --include=$(srcdir)/man/lora-merge.h2m ./minimind-lora-merge$(EXEEXT)
endif
