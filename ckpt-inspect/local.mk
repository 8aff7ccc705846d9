bin_PROGRAMS += minimind-ckpt-inspect
tools += minimind-ckpt-inspect
minimind_ckpt_inspect_SOURCES = \
  ckpt-inspect/main.c ckpt-inspect/ckpt-inspect.h ckpt-inspect/ckpt-inspect.c \
  ckpt-inspect/kind.h ckpt-inspect/kind.c ckpt-inspect/pieces.h ckpt-inspect/pieces.c \
  ckpt-inspect/describe.h ckpt-inspect/describe.c ckpt-inspect/model.c ckpt-inspect/stats.c \
  ckpt-inspect/data.c ckpt-inspect/vocabulary.c ckpt-inspect/print.h ckpt-inspect/print.c \
  ckpt-inspect/verify.h ckpt-inspect/verify.c ckpt-inspect/diff.h ckpt-inspect/diff.c
pages += man/minimind-ckpt-inspect.1
EXTRA_DIST += man/ckpt-inspect.h2m

if HAVE_HELP2MAN
man/minimind-ckpt-inspect.1: minimind-ckpt-inspect$(EXEEXT) man/ckpt-inspect.h2m
	$(make_page) --include=$(srcdir)/man/ckpt-inspect.h2m ./minimind-ckpt-inspect$(EXEEXT)
endif
