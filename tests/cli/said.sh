# said.sh -- sourced by the CLI tests: what a command said, and what a refusal leaves behind.
# SPDX-License-Identifier: Apache-2.0

# run COMMAND...: its status, its words kept in $tap_dir/stdout and stderr.
run ()
{
  "$@" >"$tap_dir/stdout" 2>"$tap_dir/stderr"; found=$?
  cat "$tap_dir/stdout" "$tap_dir/stderr"
  return $found
}

# says PATTERN: the last command's messages match.
says () { grep -e "$1" "$tap_dir/stderr"; }

# refused NAME STATUS PATTERN COMMAND...: COMMAND ends with STATUS, says why in one line that
# matches PATTERN, and leaves the folder as it was.
refused ()
{
  what=$1 status=$2 pattern=$3; shift 3
  ls -A >"$tap_dir/before"
  ok "$what: status $status" status_is "$status" run "$@"
  ok "$what: the reason in one line" says_once "$pattern"
  ls -A >"$tap_dir/after"
  ok "$what: nothing left behind" cmp "$tap_dir/before" "$tap_dir/after"
}

says_once () { says "$1" && test "$(wc -l <"$tap_dir/stderr")" -eq 1; }
