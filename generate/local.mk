bin_PROGRAMS += minimind-generate
tools += minimind-generate
minimind_generate_SOURCES = \
  generate/main.c generate/options.c generate/options.h generate/generate.c generate/generate.h \
  generate/engine.c generate/engine.h generate/prompt.c generate/prompt.h generate/score.c generate/score.h \
  generate/stream.c generate/stream.h generate/display.c generate/display.h generate/answer.c generate/answer.h \
  generate/render.c generate/render.h generate/messages.c generate/messages.h \
  generate/conversation.c generate/conversation.h generate/chat.c generate/chat.h generate/line.c generate/line.h
minimind_generate_CPPFLAGS = $(AM_CPPFLAGS) $(LIBEDIT_CFLAGS)
minimind_generate_LDADD = $(LDADD) $(LIBEDIT_LIBS)
if HAVE_LIBEDIT
minimind_generate_SOURCES += generate/line_edit.c
endif
pages += man/minimind-generate.1
EXTRA_DIST += man/generate.h2m

if HAVE_HELP2MAN
man/minimind-generate.1: minimind-generate$(EXEEXT) man/generate.h2m
	$(make_page) --include=$(srcdir)/man/generate.h2m ./minimind-generate$(EXEEXT)
endif
