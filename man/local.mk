# Pages are made from --help; man/TOOL.h2m adds what --help cannot say.
# Without help2man the copies shipped in the tarball are installed as they are; a checkout
# without help2man has none and builds without the tools' pages.
#
# Each tool's local.mk has `pages += man/minimind-TOOL.1', `EXTRA_DIST += man/TOOL.h2m' and,
# inside `if HAVE_HELP2MAN', the rule
#   man/minimind-TOOL.1: minimind-TOOL$(EXEEXT) man/TOOL.h2m
#	$(make_page) --include=$(srcdir)/man/TOOL.h2m ./minimind-TOOL$(EXEEXT)
# argp indents the titles of option groups by a blank; help2man makes headings of those that are not.
make_page = $(AM_V_GEN)$(MKDIR_P) man && $(HELP2MAN) --no-info --version-string='$(PACKAGE) $(VERSION)' \
  --help-option='--help | sed "s/^ \([A-Z].*:\)$$/\1/"' \
  --manual='User commands' --source='$(PACKAGE) $(VERSION)' --output=$@

if HAVE_PAGES
dist_man_MANS += $(pages)
endif
dist_man_MANS += man/minimind.7 man/minimind-files.5 man/minimind-tokenizer.3
MAINTAINERCLEANFILES += $(pages)

# A page rebuilt outside the source tree would otherwise survive distclean.
distclean-local:
	test x$(srcdir) = x$(builddir) || rm -f $(pages)
