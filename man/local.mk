# Pages are made from --help; man/TOOL.h2m adds what --help cannot say.
# Without help2man the copies shipped in the tarball are installed as they are.
# Each tool's local.mk lists its page in dist_man_MANS and man/TOOL.h2m in EXTRA_DIST, and has the rule
#   man/minimind-TOOL.1: minimind-TOOL$(EXEEXT) man/TOOL.h2m
#	$(make_page) --include=$(srcdir)/man/TOOL.h2m ./minimind-TOOL$(EXEEXT)
# inside `if HAVE_HELP2MAN'.
make_page = $(AM_V_GEN)$(MKDIR_P) man && $(HELP2MAN) --no-info --output=$@
MAINTAINERCLEANFILES += $(dist_man_MANS)

# A page rebuilt outside the source tree would otherwise survive distclean.
distclean-local:
	test x$(srcdir) = x$(builddir) || rm -f $(dist_man_MANS)
