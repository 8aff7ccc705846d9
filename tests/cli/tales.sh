# tales.sh -- the sample corpus is the same everywhere, and is JSON Lines in UTF-8.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"

tales=$srcdir/examples/tales.awk
want=695a4e0b09b3398a4e519b1b8caf930224596d22aa2b98fd2e5f7f2a5207a355

digest_is () { test "$(cat | sha256sum | sed 's/ .*//')" = "$1"; }

made_by () { "$@" -v tales=500 -f "$tales" | digest_is $want; }

for awk in awk mawk gawk original-awk 'busybox awk'; do
  $awk 'BEGIN { exit 0 }' 2>/dev/null || continue
  ok "the same bytes by $awk" made_by $awk
done
awk -v tales=500 -f "$tales" >a
ok "one object a line" sh -c 'test $(grep -c "^{\"text\": \".*\"}$" a) = 500'
ok "no control characters, no stray quotes" sh -c \
  '! sed "s/^{\"text\": \"//; s/\"}$//; s/\\\\\"//g" a | LC_ALL=C grep "[[:cntrl:]\"\\\\]"'
ok "valid UTF-8" iconv -f UTF-8 -t UTF-16 a
ok "both languages" sh -c 'grep -q "Once upon a time" a && grep -q 从前 a'
ok "another seed, other tales" sh -c 'awk -v tales=500 -v seed=2 -f "$1" >b; ! cmp -s a b' sh "$tales"
tap_done
