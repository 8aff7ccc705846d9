bin_PROGRAMS += minimind-generate
tools += minimind-generate
minimind_generate_SOURCES = \
  generate/main.c generate/generate.c generate/generate.h \
  generate/prompt.c generate/prompt.h generate/score.c generate/score.h \
  generate/stream.c generate/stream.h
pages += man/minimind-generate.1
EXTRA_DIST += man/generate.h2m

if HAVE_HELP2MAN
man/minimind-generate.1: minimind-generate$(EXEEXT) man/generate.h2m
	$(make_page) --include=$(srcdir)/man/generate.h2m ./minimind-generate$(EXEEXT)
endif
