#!/usr/bin/env bash
# Checks that docs/cases.md lists each case whose number is in the name of a test (D34, P16), with the files of those
# tests, and no other case.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

page=docs/cases.md
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT

# A test's name is the first string after @Test( or @Suite(, possibly on the next line, or a function's name in backticks.
find Tests -name .build -prune -o -type f -name '*.swift' -print0 | xargs -0 awk '
  FNR == 1 { file = FILENAME; sub(/.*\//, "", file); sub(/\.swift$/, "", file); begun = 0 }
  {
    name = ""
    if (match($0, /@(Test|Suite)\("[^"]*"/) || match($0, /func `[^`]*`/) || (begun && match($0, /^ *"[^"]*"/))) {
      name = substr($0, RSTART, RLENGTH)
    }
    begun = $0 ~ /@(Test|Suite)\($/
    while (match(name, /[^A-Za-z0-9][A-Z][0-9][0-9][0-9]?[^A-Za-z0-9]/)) {
      print substr(name, RSTART + 1, RLENGTH - 2), file
      name = substr(name, RSTART + RLENGTH - 1)
    }
  }' | sort -u > "$lists/tests"

# A line of a table begins with the case and ends with the files.
awk -F ' *[|] *' '$2 ~ /^[A-Z][0-9][0-9][0-9]?$/ {
    count = split($(NF - 1), files, /[`, ]+/)
    for (i = 1; i <= count; i++) if (files[i] != "") print $2, files[i]
  }' "$page" | sort > "$lists/page"

[ -s "$lists/tests" ] || { echo "no test with the number of a case was found" >&2; exit 1; }
missing=$(comm -23 "$lists/tests" "$lists/page")
stale=$(comm -13 "$lists/tests" "$lists/page")
[ -z "$missing" ] || printf 'in the name of a test, not in %s with that file:\n%s\n' "$page" "$missing" >&2
[ -z "$stale" ] || printf 'in %s twice, or without a test of that case in the file:\n%s\n' "$page" "$stale" >&2
[ -z "$missing$stale" ]
echo "$page names the cases of all tests: $(cut -d ' ' -f 1 "$lists/tests" | sort -u | wc -l)"
