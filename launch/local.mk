bin_PROGRAMS += minimind-launch
tools += minimind-launch
minimind_launch_SOURCES = launch/main.c launch/launch.c launch/launch.h launch/ranks.c launch/relay.c \
  launch/hosts.c launch/processes.c
pages += man/minimind-launch.1
EXTRA_DIST += man/launch.h2m

if HAVE_HELP2MAN
man/minimind-launch.1: minimind-launch$(EXEEXT) man/launch.h2m
	$(make_page) --include=$(srcdir)/man/launch.h2m ./minimind-launch$(EXEEXT)
endif
