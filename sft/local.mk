bin_PROGRAMS += minimind-sft
tools += minimind-sft
minimind_sft_SOURCES = sft/main.c
pages += man/minimind-sft.1
EXTRA_DIST += man/sft.h2m

if HAVE_HELP2MAN
man/minimind-sft.1: minimind-sft$(EXEEXT) man/sft.h2m
	$(make_page) --include=$(srcdir)/man/sft.h2m ./minimind-sft$(EXEEXT)
endif
