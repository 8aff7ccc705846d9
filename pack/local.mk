bin_PROGRAMS += minimind-pack
tools += minimind-pack
minimind_pack_SOURCES = \
  pack/main.c pack/pack.c pack/pack.h pack/plan.c pack/plan.h \
  pack/rows.c pack/rows.h pack/report.c pack/report.h
pages += man/minimind-pack.1
EXTRA_DIST += man/pack.h2m

if HAVE_HELP2MAN
man/minimind-pack.1: minimind-pack$(EXEEXT) man/pack.h2m
	$(make_page) --include=$(srcdir)/man/pack.h2m ./minimind-pack$(EXEEXT)
endif
