#!/usr/bin/env bash
# Checks that each test that the table of libcurl's versions names exists: `Suite.function`, in Suite.swift.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

page=docs/transports.md
# In the last column of the section's table.
named=$(awk -F '|' '/^## / { inside = $0 == "## Versions of libcurl" } inside && NF == 5 { print $4 }' "$page" \
  | grep -oE '`[A-Za-z0-9]+\.[A-Za-z0-9]+`' | tr -d '`' | sort -u)
[ -n "$named" ] || { echo "$page names no test" >&2; exit 1; }
missing=
for test in $named; do
  find Tests -name .build -prune -o -name "${test%.*}.swift" -print0 | xargs -0r grep -qE "func ${test#*.}\(" \
    || missing+="$test "
done
[ -z "$missing" ] || { echo "$page names tests that do not exist: $missing" >&2; exit 1; }
rows=$(awk -F '|' '/^## / { inside = $0 == "## Versions of libcurl" } inside && NF == 5 && $4 !~ /`/' "$page" | sed 1,2d)
[ -z "$rows" ] || { printf '%s has rules without a test:\n%s\n' "$page" "$rows" >&2; exit 1; }
echo "$page names tests that exist: $(wc -w <<< "$named")"
