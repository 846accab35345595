#!/usr/bin/env bash
# Runs `swift test`, and repeats the failures at the end of the output. Each of more than a thousand tests prints two lines,
# and often only the last lines of a log are kept. With HEADGATE_TEST_PROGRAM, runs tests that were built elsewhere.
# Failures that Tests/known-failures.txt lists for the libcurl of this machine are accepted, and only those.
set -uo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
results=$(mktemp -d)
# The tests neither read nor change what the user's own runs of the command keep.
export XDG_STATE_HOME=$results/state XDG_CONFIG_HOME=$results/config
# Tests that never end must leave a message, and not run until the whole build is stopped. Only their own process is
# killed, a child of `swift test`: otherwise `swift test` would not print what it has read from it. Without GNU's
# `timeout` and `tail`, as on macOS, nothing ends them.
(
  timeout 45m tail --pid=$$ -f /dev/null > /dev/null 2>&1
  if [ $? -eq 124 ]; then
    printf '\n=== not ended within 45 minutes\n'
    pkill -KILL -P "$(pgrep -d , -P $$)"
  fi
) &
watchdog=$!
# It holds this script's output open: a caller that reads to the end before it waits would wait for the watchdog.
trap 'rm -rf "$log" "$results"; kill "$watchdog" 2> /dev/null' EXIT
if [ -n "${HEADGATE_TEST_PROGRAM:-}" ]; then
  run=(timeout -s KILL 45m "$HEADGATE_TEST_PROGRAM" --testing-library swift-testing
    --xunit-output "$results/run-swift-testing.xml")
else
  run=("${SWIFT:-swift}" test --xunit-output "$results/run.xml")
fi
"${run[@]}" "$@" 2>&1 | tee "$log"
code=${PIPESTATUS[0]}
# A test that fails ends with 1. A process that dies has left no results.
if [ "$code" -le 1 ]; then
  if scripts/known-failures.py "$results/run-swift-testing.xml"; then code=0; else code=1; fi
fi
# A warning of the build is far above the tests' output, and an incremental build does not repeat it.
if grep -aqE "/(Sources|Tests)/[^:]*:[0-9]+:[0-9]+: warning:" "$log"; then
  printf '\n=== warnings of this package\n'
  grep -aE "/(Sources|Tests)/[^:]*:[0-9]+:[0-9]+: warning:" "$log" | sort -u
fi
if [ "$code" -ne 0 ]; then
  printf '\n=== failed (exit code %s): swift test %s\n' "$code" "$*"
  # The text of a failed expectation follows it, on lines that begin with an arrow.
  grep -aE -A 4 'recorded an issue|Caught error|Fatal error|SUMMARY: |warning: data race' "$log" \
    | grep -avE '(started|passed after .*)\.$' | cut -c1-600 | head -n 120
  # If the process died, the last test that started is the one in which it died.
  grep -a 'started\.$' "$log" | tail -n 1
  grep -aE '^. Test run with' "$log"
fi
exit "$code"
