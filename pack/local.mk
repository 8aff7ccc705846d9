bin_PROGRAMS += minimind-pack
tools += minimind-pack
minimind_pack_SOURCES = \
  pack/main.c pack/sources.c pack/sources.h $(pack_sources)
pack_sources = \
  pack/pack.c pack/pack.h pack/corpus.c pack/corpus.h pack/survey.c pack/survey.h \
  pack/plan.c pack/plan.h pack/mix.c pack/mix.h pack/rows.c pack/rows.h pack/shelf.c pack/shelf.h \
  pack/llmc.c pack/llmc.h pack/report.c pack/report.h
pages += man/minimind-pack.1
EXTRA_DIST += man/pack.h2m

if HAVE_HELP2MAN
man/minimind-pack.1: minimind-pack$(EXEEXT) man/pack.h2m
	$(make_page) --include=$(srcdir)/man/pack.h2m ./minimind-pack$(EXEEXT)
endif
