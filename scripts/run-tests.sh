#!/usr/bin/env bash
# `swift test` with what failed said once more at the end, where it is looked for: of more than a thousand tests each
# prints two lines, and a log is often kept by its last lines only.
set -uo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${SWIFT:-swift}" test "$@" 2>&1 | tee "$log"
code=${PIPESTATUS[0]}
if [ "$code" -ne 0 ]; then
  printf '\n=== failed (exit code %s): swift test %s\n' "$code" "$*"
  # What a failed expectation says follows it on the lines that begin with an arrow.
  grep -aE -A 4 'recorded an issue|Caught error|Fatal error|SUMMARY: |warning: data race' "$log" \
    | grep -avE '(started|passed after .*)\.$' | cut -c1-600 | head -n 120
  # A process that died says no more: the test that it was in is the last that started.
  grep -a 'started\.$' "$log" | tail -n 1
  grep -aE '^. Test run with' "$log"
fi
exit "$code"
