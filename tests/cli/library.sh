# libminimind as another program finds it: installed, by pkg-config, static and shared; and through ctypes.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"

command -v pkg-config >/dev/null || skip_all "no pkg-config"
unset MAKEFLAGS MAKELEVEL MFLAGS
variable () { sed -n "s/^$1 = //p" "$builddir/Makefile"; }
CC=$(variable CC) CFLAGS=$(variable CFLAGS)
root=$tap_dir/root
tokenizer=$srcdir/tests/interop/text/qwen2.json

ok "the library installs" make -s -C "$builddir" DESTDIR="$root" install-libLIBRARIES install-exec-local \
  install-minimindincludeHEADERS install-pkgconfigDATA
libdir=$root$(cd "$root" && find . -name minimind.pc | sed 's,^\.,,; s,/pkgconfig/.*,,')
PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR

# Other libraries' flags are not below the root that DESTDIR made.
flags=$(pkg-config --cflags --libs minimind)
# shellcheck disable=SC2086
ok "the example compiles by pkg-config's flags" \
  $CC $CFLAGS "$srcdir/examples/tokenizer.c" -o "$tap_dir/shared" $flags
unset PKG_CONFIG_SYSROOT_DIR
# shellcheck disable=SC2046,SC2086
ok "and with the static library" \
  $CC $CFLAGS -I"$root$(variable prefix)/include" "$srcdir/examples/tokenizer.c" "$libdir/libminimind.a" \
  $(pkg-config --libs jansson libcrypto libpcre2-8 libutf8proc) -lpthread -o "$tap_dir/static"

LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; export LD_LIBRARY_PATH
printf 'The fox, 42 cafe\314\201' >"$tap_dir/text"
minimind-tokenize --tokenizer="$tokenizer" --no-eos --count "$tap_dir/text" >"$tap_dir/count" 2>/dev/null
want=$(awk '$1 == "tokens" { print $2 }' "$tap_dir/count")
for kind in shared static; do
  "$tap_dir/$kind" "$tokenizer" <"$tap_dir/text" >"$tap_dir/$kind.out" 2>"$tap_dir/$kind.err"
  ok "$kind: it counts what minimind-tokenize counts" \
    test "$(awk 'NR == 1 { print $1, NF - 2 }' "$tap_dir/$kind.out")" = "$want $want"
  ok "$kind: the text comes back normalised" \
    test "$(sed 1d "$tap_dir/$kind.out")" = "$(printf 'The fox, 42 caf\303\251')"
done
"$tap_dir/shared" none.json </dev/null 2>"$tap_dir/said" >/dev/null
ok "a failure is told" grep -q 'tokenizer: none.json: No such file' "$tap_dir/said"

case $CFLAGS in *sanitize*) python= ;; *) python=$(command -v python3) ;; esac
if test "$python"; then
  sed -n '/^import ctypes/,/^print/p' "$srcdir/man/minimind-tokenizer.3" | sed 's/\\\\/\\/g; s/\\-/-/g' \
    >"$tap_dir/example.py"
  (cd "$tap_dir" && cp "$tokenizer" tokenizer.json && $python example.py) >"$tap_dir/python.out" 2>&1
  ok "the manual's example in Python" grep -q '^[0-9]* .*Hello, world$' "$tap_dir/python.out"
else
  tap_skip "the manual's example in Python" "no python3, or sanitizers"
fi
tap_done
