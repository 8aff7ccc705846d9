bin_PROGRAMS += minimind-pretrain
tools += minimind-pretrain
minimind_pretrain_SOURCES = pretrain/main.c
pages += man/minimind-pretrain.1
EXTRA_DIST += man/pretrain.h2m

if HAVE_HELP2MAN
man/minimind-pretrain.1: minimind-pretrain$(EXEEXT) man/pretrain.h2m
	$(make_page) --include=$(srcdir)/man/pretrain.h2m ./minimind-pretrain$(EXEEXT)
endif
