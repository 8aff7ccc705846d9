# help.sh -- every tool explains itself, accepts what --help lists, refuses what it does not, and
# notices that standard output is full.
# SPDX-License-Identifier: Apache-2.0
. "$srcdir/tests/tap.sh"

# The long options that TOOL's --help lists.
options_of ()
{
  "$1" --help | sed -n 's/^  *\(-.,\)* *--\([a-z0-9-]*\).*/--\2/p'
}

# An option's description stands behind it, or on the next line when the option is long.
undescribed ()
{
  "$1" --help | awk '
    open != "" && !/^  +[^ -]/ { print open }
    { open = "" }
    /^ +(-., )? *--[a-z]/ {
      rest = $0
      sub (/^ +(-., )? *--[^ ]+( or [^ ]+)? */, "", rest)
      if (rest == "") open = $0
    }
    END { if (open != "") print open }'
}

all_described () { test -z "$(undescribed "$1")"; }

# Whatever else is missing, the parser must know the option itself; --usage behind one without a value keeps
# tools that need nothing more from setting to work.
parses () { ! "$1" "$2" --usage 2>&1 </dev/null | grep -q 'unrecognized option'; }

single_blanks () { "$1" --help | awk '/^$/ && before == "" { bad = 1 } { before = $0 } END { exit bad }'; }

first_line_of_version ()
{
  "$1" --version | sed 1q | grep "^$1 (minimind) [0-9]"
}

version_tells ()
{
  "$1" --version | grep '^numerics version [1-9]' && "$1" --version | grep '^backends: ' \
    && "$1" --version | grep '^libraries: .*libarchive'
}

for tool in $tools; do
  ok "$tool --version names the program" first_line_of_version "$tool"
  ok "$tool --version tells what was built in" version_tells "$tool"
  ok "$tool --help" "$tool" --help
  ok "$tool --usage" "$tool" --usage
  ok "$tool describes each option" all_described "$tool"
  ok "$tool --help has single blank lines" single_blanks "$tool"
  ok "$tool refuses an unknown option" status_is 64 "$tool" --no-such-option
  ok "$tool refuses an unknown letter" status_is 64 "$tool" -~
  for option in $(options_of "$tool"); do
    ok "$tool $option is parsed" parses "$tool" "$option"
  done
  for option in quiet verbose help usage version; do
    ok "$tool has --$option" sh -c '"$0" --help | grep -e "--$1"' "$tool" "$option"
  done
  if "$tool" --help | grep -q -e --threads; then
    for bad in threads=0 threads=x threads=1025 threads= seed=-1 backend=abacus; do
      ok "$tool refuses --$bad" status_is 64 "$tool" --$bad
    done
  fi
  if test -w /dev/full; then
    ok "$tool --help notices a full disk" status_is 74 sh -c '"$0" --help >/dev/full' "$tool"
    ok "$tool --version notices a full disk" status_is 74 sh -c '"$0" --version >/dev/full' "$tool"
  fi
done
test "$tools" || skip_all "no tools in this build"
tap_done
