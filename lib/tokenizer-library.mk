# libminimind: the tokenizer by itself, for other programs (man minimind-tokenizer).  Static and shared are
# made of the same objects; the shared one shows what its map names and nothing else.
lib_LIBRARIES = lib/libminimind.a
lib_libminimind_a_CFLAGS = $(AM_CFLAGS) -fPIC
lib_libminimind_a_SOURCES = \
  lib/base/error.c lib/base/hash.c lib/base/log.c lib/base/memory.c \
  lib/io/fd.c lib/io/json.c lib/io/json_text.c lib/io/paths.c \
  lib/text/added.c lib/text/bpe.c lib/text/bpe_merge.c lib/text/bpe_short.c lib/text/vector.c lib/text/byte_table.c \
  lib/text/encode.c lib/text/encode_pieces.c lib/text/json_line.c lib/text/json_string.c \
  lib/text/json_unescape.c lib/text/known.c lib/text/load_added.c \
  lib/text/load_config.c lib/text/load_file.c lib/text/load_model.c lib/text/load_pipeline.c \
  lib/text/load_pre_tokenizer.c lib/text/normalize.c lib/text/pattern_deepseek.c \
  lib/text/pattern_gpt4.c lib/text/pattern_known.c lib/text/pretokenize.c \
  lib/text/pretokenize_gpt2.c lib/text/ranks.c lib/text/shown.c \
  lib/text/seam.c lib/text/split.c lib/text/split_regex.c lib/text/tokenizer.c lib/text/trie.c \
  lib/text/unicode_table.c lib/text/utf8.c lib/text/vocabulary.c

minimindincludedir = $(includedir)/minimind
minimindinclude_HEADERS = lib/minimind/error.h lib/minimind/tokenizer.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = minimind.pc
EXTRA_DIST += lib/libminimind.map

shared_name = libminimind.so.0
shared_libs = $(JANSSON_LIBS) $(LIBCRYPTO_LIBS) $(PCRE2_LIBS) $(UTF8PROC_LIBS)
lib/$(shared_name): lib/libminimind.a lib/libminimind.map
	$(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(shared_name) \
	  -Wl,--version-script,$(srcdir)/lib/libminimind.map -o $@ \
	  -Wl,--whole-archive lib/libminimind.a -Wl,--no-whole-archive $(shared_libs) $(LIBS)
CLEANFILES += lib/$(shared_name)

all-local: lib/$(shared_name)
install-exec-local: lib/$(shared_name)
	$(MKDIR_P) "$(DESTDIR)$(libdir)"
	$(INSTALL_PROGRAM) lib/$(shared_name) "$(DESTDIR)$(libdir)/$(shared_name)"
	cd "$(DESTDIR)$(libdir)" && rm -f libminimind.so && $(LN_S) $(shared_name) libminimind.so
uninstall-local:
	rm -f "$(DESTDIR)$(libdir)/$(shared_name)" "$(DESTDIR)$(libdir)/libminimind.so"
