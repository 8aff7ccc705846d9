# disk.sh -- outputs on disks that are full, for reading only, or taken away: 74, a line that names the output, and
# nothing half-written.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/fault/faults.sh"
{ make_inputs && train run --keep=0; } >made 2>&1 || { sed 's/^/# /' made; exit 99; }

# told STATUS WORDS COMMAND...: that status, and one line with the words.
told ()
{
  want=$1 words=$2; shift 2
  "$@" >/dev/null 2>said; status=$?
  grep -v ': warning: ' said
  test $status -eq "$want" && test "$(grep -c -v ': warning: ' said)" -eq 1 && grep -F -q -e "$words" said
}

empty () { ls -A disk; test -z "$(ls -A disk)"; }

# ---- full ----

# filled TOOL OPTION...: on disks of growing size the tool fails as it should until it ends well; both happen.
filled ()
{
  tool=$1 result=$2; shift 2
  failed=0
  for option; do
    disk "$option" || return 1
    $tool disk >/dev/null 2>said && { test $failed -gt 0; return; }
    told 74 disk/$result $tool disk || { echo "$option: status $status"; cat said; return 1; }
    empty || return 1
    failed=$((failed + 1))
  done
  echo "no disk was large enough"; return 1
}

sizes= inodes=
for n in 1 2 3 4 5 6 7 8; do inodes="$inodes nr_inodes=$n"; done
if test "$MM_LONG"; then n=1; while test $n -le 64; do sizes="$sizes size=$((4 * n))k"; n=$((n + 1)); done
else sizes="size=4k size=8k size=12k size=16k size=20k size=24k size=32k size=64k size=256k"; fi

if disk size=4k; then
  ok "train-tokenizer on small disks" filled learn tokenizer $sizes
  ok "tokenize on small disks" filled tokens tok $sizes
  ok "pack on small disks" filled rows d $sizes
  ok "pack where few files fit" filled rows d $inodes size=1m

  # The sample's checkpoint has some 150 kB: the first one fits, two do not.
  disk size=250k
  ok "pretrain when the disk is full: 74" told 74 disk/run/step-00000010 train disk/run --keep=0
  ok "the older checkpoint stands" all_intact disk/run
  ok "nothing half-written" test -z "$(leftovers disk)"
  mount -o remount,size=4m disk
  ok "with more room it goes on" train disk/run --keep=0
  ok "to the same bits" same_bits run/step-00000020 disk/run/step-00000020
  disk size=8k
  ok "pretrain without room for any" told 74 disk/run/step-00000005 train disk/run
  ok "leaves no checkpoint" test -z "$(find disk -name 'step-*')"
  for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    disk size=4m,nr_inodes=$n
    ok "pretrain on a disk for $((n - 1)) files" told 74 disk train disk/run
    ok "leaves no checkpoint" test -z "$(find disk -name 'step-*' -o -name '.step*')"
  done

  # ---- for reading only ----

  disk size=4m
  ok "a run" status_is 75 train disk/run --stop-after=5
  cp -r d tok tokenizer.json t.jsonl disk
  mount -o remount,ro disk
  ok "train-tokenizer on a disk for reading only" told 74 disk/x.tokenizer.json \
    minimind-train-tokenizer -q --vocab-size=300 t.jsonl -o disk/x.tokenizer.json
  ok "tokenize" told 74 disk/x minimind-tokenize -q --tokenizer=tokenizer.json t.jsonl -o disk/x
  ok "pack" told 74 disk/x minimind-pack -q --seq-len=32 tok -o disk/x
  ok "pretrain" told 74 disk/x train disk/x
  ok "pretrain that goes on" told 74 disk/run train disk/run
  ok "eval reads there" minimind-eval --model=disk/run --data=disk/d
  ok "generate reads there" minimind-generate --model=disk/run --max-tokens=2 a
  ok "ckpt-inspect reads there" minimind-ckpt-inspect --verify disk/run disk/d disk/tok disk/tokenizer.json
  umount disk
else
  tap_skip "small disks" "no file system can be mounted here"
  tap_skip "disks for reading only" "no file system can be mounted here"
fi

if test -w /dev/full; then
  ln -s /dev/full full.tokenizer.json
  ok "train-tokenizer to /dev/full" told 74 full.tokenizer.json \
    minimind-train-tokenizer -q --vocab-size=300 t.jsonl -o full.tokenizer.json
  ok "leaves no configuration" test ! -e full.tokenizer_config.json
  ok "tokenize to /dev/full" told 74 /dev/full minimind-tokenize -q --tokenizer=tokenizer.json t.jsonl -o /dev/full
  ok "pretrain to /dev/full" told 74 /dev/full train /dev/full
  ok "a metrics file there stops no run" train run-full --keep=0 --metrics-file=/dev/full
  ok "nor changes a bit" same_bits run/step-00000020 run-full/step-00000020
fi

# ---- taken away ----

if strace_works; then
  for tool in learn tokens rows; do
    mkdir gone
    ok "$tool: stopped before its output is complete" stopped_at fsync 1 $tool gone
    rm -rf gone
    ok "$tool: its folder is taken away: 74" go_on_to 74
    ok "$tool: which is named" grep -F gone/ said
    ok "$tool: and not made again" test ! -e gone
  done
  ok "pretrain: stopped in a save" stopped_at fsync 3 train gone
  rm -rf gone
  ok "pretrain: its folder is taken away: 74" go_on_to 74
  ok "pretrain: which is named" grep -F gone/ said
  ok "pretrain: and not made again" test ! -e gone
else
  tap_skip "outputs taken away" "strace cannot trace here"
fi
tap_done
