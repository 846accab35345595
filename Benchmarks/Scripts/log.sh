#!/usr/bin/env bash
# The instructions and allocations of a log line whose source is off: the difference between two runs with fewer and
# more such lines, so that start-up cancels out.
set -euo pipefail
program=$1
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
# valgrind 3.19 can't read what the linker writes as debug information.
strip --strip-debug -o "$copy" "$program"

instructions() { # lines
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$copy" "$1" 2>&1 | sed -n 's/.*Collected : //p'
}
allocations() { # lines
  valgrind --tool=memcheck "$copy" "$1" 2>&1 | sed -n 's/.*total heap usage: \([0-9,]*\) allocs.*/\1/p' | tr -d ,
}
few=10000 many=110000
awk -v i="$(($(instructions $many) - $(instructions $few)))" -v a="$(($(allocations $many) - $(allocations $few)))" \
  -v n="$((many - few))" 'BEGIN { printf "a line whose source is off: %.2f instructions, %.4f allocations\n", i / n, a / n }'
