# syntax.sh -- the habits of HACKING that a script can check, over the whole source tree.
# SPDX-License-Identifier: Apache-2.0
# `make syntax-check' runs this alone.  No check passes by finding nothing to look at.
. "$srcdir/tests/tap.sh"

LC_ALL=C; export LC_ALL         # a line's length is in bytes
cd "$srcdir" || exit 99
files=$tap_dir/files
folders=$(ls -d */ | grep -v -e '^build' -e '^_' -e '^autom4te' -e '^minimind-[0-9]')
# A folder that was configured in is a build, whatever its name.
{ find $folders -type d -exec test -e '{}/config.log' \; -prune -o -type f -print; ls; } \
  | grep -v '\.dirstamp$' | sort >"$files"

# The files whose names match EXPRESSION, and do not match EXCEPT.
named () { grep -e "$1" "$files" | grep -v "${2:-^$}"; }

written='\.\([chm]\|sh\|mk\|am\|ac\|md\|awk\|py\|h2m\|[1-8]\)$'
generated='^config\.h$\|^man/minimind-.*\.1$\|^aclocal'

# none NAME COMMAND...: pass when COMMAND prints nothing.
none ()
{
  name=$1; shift; tap_n=$((tap_n + 1))
  "$@" >"$tap_dir/found" 2>&1
  if test -s "$tap_dir/found"; then echo "not ok $tap_n - $name"; sed 's/^/# /' "$tap_dir/found"
  else echo "ok $tap_n - $name"; fi
}

in_files () { named "$1" "$generated" | tr '\n' '\0' | xargs -0 grep -n "$2" /dev/null; }

unended ()
{
  named "$written" "$generated" | while read -r f; do
    test -z "$(tail -c 1 "$f")" || echo "$f: no newline at the end"
  done
}

# Tables that a script made may be long.
longer_than ()
{
  named "$1" "$generated\|_table\.c$" | while read -r f; do
    n=$(wc -l <"$f"); test "$n" -le "$2" || echo "$f: $n lines, want at most $2"
  done
}

without_licence ()
{
  named '\.\([ch]\|sh\|awk\|py\)$' "$generated" | while read -r f; do
    sed 15q "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f: no SPDX line"
  done
}

# Every tool has the text that help2man cannot know.
pages_without ()
{
  for tool in $tools; do
    page=man/${tool#minimind-}.h2m
    for section in NAME EXAMPLES FILES 'EXIT STATUS' 'SEE ALSO'; do
      grep -q "^\[$section\]" "$page" || echo "$page: no section [$section]"
    done
  done
}

unlisted_tests ()
{
  named '^tests/unit/.*\.c$\|^tests/[a-z]*/.*\.sh$' | while read -r f; do
    cat tests/local.mk tests/*/local.mk */local.mk | grep -q "${f%.c}" || echo "$f: in no local.mk"
  done
}

undistributed ()
{
  named '^\(lib\|[a-z-]*\)/.*\.[ch]$' '^tests\|^examples\|^bench\|^fuzz\|^build' | while read -r f; do
    cat lib/*/local.mk */local.mk | grep -q "$f" || echo "$f: in no local.mk"
  done
}

# Folders of lib/ by height: an include goes to the same folder or to a lower one.  version.c, which
# reports on everything, may look up.
climbing_includes ()
{
  named '^lib/.*\.[ch]$' '^lib/base/version\.c$' | tr '\n' '\0' | xargs -0 awk '
    BEGIN {
      n = split("base:0 io:1 text:2 comm:2 data:3 telemetry:3 backend:4 model:5 train:6", h, " ")
      for (i = 1; i <= n; i++) { split(h[i], part, ":"); height[part[1]] = part[2] }
      while (("cat lib/*/local.mk | tr \" \" \"\\n\"" | getline word) > 0) ;
      for (folder in height)
        while ((getline line < ("lib/" folder "/local.mk")) > 0) {
          m = split(line, word_of, " ")
          for (k = 1; k <= m; k++)
            if (word_of[k] ~ /^lib\/minimind\/[a-z_]*\.h$/) {
              sub(/^lib\/minimind\//, "", word_of[k]); owner[word_of[k]] = folder
            }
        }
    }
    FNR == 1 {
      split(FILENAME, path, "/"); mine = path[2]; name = path[3]
      depth = split(FILENAME, path, "/") - 3
      if (mine == "minimind") { mine = owner[name]; if (mine == "") print FILENAME ": in no local.mk" }
      if (!(mine in height)) print FILENAME ": folder " mine " has no height"
    }
    /^# *include <minimind\// {
      split($0, part, /[<>]/); sub(/^minimind\//, "", part[2]); theirs = owner[part[2]]
      if (theirs == "") print FILENAME ": includes " part[2] ", which no folder lists"
      else if (theirs != mine && height[theirs] >= height[mine])
        print FILENAME ": " mine " includes " part[2] " of " theirs
    }
    /^# *include "/ {
      split($0, part, "\""); up = 0
      while (sub(/^\.\.\//, "", part[2])) up++
      if (up > depth) print FILENAME ": includes a private header of another folder"
    }'
}

private_includes_of_tools ()
{
  for tool in $tools; do
    named "^${tool#minimind-}/.*\.[ch]$" | tr '\n' '\0' | xargs -0 grep -n 'include "\.\./' /dev/null
  done
}

# "FILE:LINE: CODE" of the C files named on standard input, without their comments.
code_of ()
{
  tr '\n' '\0' | xargs -0 awk '
    FNR == 1 { inside = 0 }
    {
      line = $0; code = ""
      while (line != "")
        if (inside) {
          if (i = index(line, "*/")) { line = substr(line, i + 2); inside = 0 } else line = ""
        } else {
          if (i = index(line, "/*")) { code = code substr(line, 1, i - 1); line = substr(line, i + 2); inside = 1 }
          else { code = code line; line = "" }
        }
      if (code != "") print FILENAME ":" FNR ": " code
    }' /dev/null
}

# Only a main ends the process.
exits ()
{
  { named '^lib/.*\.c$'
    for tool in $tools; do named "^${tool#minimind-}/.*\.c$" '/main\.c$'; done
  } | code_of | grep '[^_a-z]exit ('
}

speaks_to_stderr ()
{
  named '^lib/.*\.c$' '^lib/base/\(cli\|log\)\.c$' | code_of | grep 'fprintf (stderr\|perror ('
}

# In a result path only + - * / sqrt and fma occur (docs/numerics.md).
calls_libm ()
{
  named '^lib/\(backend\|model\|train\|comm\|data\)/.*\.[ch]$' | code_of | grep \
    '[^_a-z]\(exp\|exp2\|expm1\|log\|log2\|log10\|log1p\|pow\|sin\|cos\|tan\|tanh\|erf\|cbrt\|hypot\)f\? ('
}

ok "files were found" test "$(named '\.c$' | wc -l)" -gt 20
none "no blanks at the ends of lines" in_files "$written" '[[:blank:]]$'
none "no tabs in C" in_files '\.[ch]$' "$(printf '\t')"
none "no carriage returns" in_files "$written" "$(printf '\r')"
none "files end with a newline" unended
none "lines of C up to 120 bytes" in_files '\.[ch]$' '^.\{121\}'
none "files up to 800 lines" longer_than '\.\([ch]\|sh\|awk\|py\)$' 800
none "a main up to 170 lines" longer_than '/main\.c$' 170
none "an SPDX line in every program" without_licence
none "no postponed work" in_files "$written" '\b\(TO''DO\|FIX''ME\|XX''X\)\b'
none "each tool has examples, files, exit status and relations for its page" pages_without
none "each test is listed" unlisted_tests
none "each source is listed" undistributed
none "includes go down" climbing_includes
none "tools use public headers" private_includes_of_tools
none "only main exits" exits
none "only main and the log speak" speaks_to_stderr
none "no libm in results" calls_libm
tap_done
