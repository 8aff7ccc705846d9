bin_PROGRAMS += minimind-tokenize
tools += minimind-tokenize
minimind_tokenize_SOURCES = \
  tokenize/main.c tokenize/options.c tokenize/tokenize.c tokenize/tokenize.h \
  tokenize/source.c tokenize/source.h tokenize/row.c tokenize/row.h \
  tokenize/batch.c tokenize/batch.h tokenize/sink.c tokenize/sink.h \
  tokenize/report.c tokenize/report.h tokenize/sample.c \
  tokenize/decode.c tokenize/decode.h tokenize/decode_ids.c
pages += man/minimind-tokenize.1
EXTRA_DIST += man/tokenize.h2m

if HAVE_HELP2MAN
man/minimind-tokenize.1: minimind-tokenize$(EXEEXT) man/tokenize.h2m
	$(make_page) --include=$(srcdir)/man/tokenize.h2m ./minimind-tokenize$(EXEEXT)
endif
