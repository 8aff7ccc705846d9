bin_PROGRAMS += minimind-eval
tools += minimind-eval
minimind_eval_SOURCES = \
  eval/main.c eval/eval.c eval/eval.h eval/result.c eval/result.h
pages += man/minimind-eval.1
EXTRA_DIST += man/eval.h2m

if HAVE_HELP2MAN
man/minimind-eval.1: minimind-eval$(EXEEXT) man/eval.h2m
	$(make_page) --include=$(srcdir)/man/eval.h2m ./minimind-eval$(EXEEXT)
endif
