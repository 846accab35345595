#!/usr/bin/env bash
# The instructions of one request through the dispatcher, with few and with many waiting requests: the difference
# between two runs that differ only in the number of requests, so that start-up and filling the queue cancel out.
set -euo pipefail
program=$1
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
# valgrind 3.19 can't read what the linker writes as debug information.
strip --strip-debug -o "$copy" "$program"

count() { # waiting, requests
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$copy" "$1" "$2" 2>&1 | sed -n 's/.*Collected : //p'
}
each() { # waiting
  echo $((($(count "$1" 30000) - $(count "$1" 10000)) / 20000))
}
few=$(each 100)
many=$(each 1000000)
echo "instructions a request: $few with a hundred waiting, $many with a million (ratio $(
  awk -v few="$few" -v many="$many" 'BEGIN { printf "%.2f", many / few }'))"
