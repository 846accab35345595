#!/usr/bin/env bash
# Checks that the programs in Examples/ print what they should. Examples/WebService takes minutes to build, so it is built
# only with the argument `all`.
set -euo pipefail
cd "$(dirname "$0")/.."

# All with one scratch path: Headgate itself is built once.
scratch=${HEADGATE_SCRATCH:-.build-example}
output=$(mktemp)
readme=$(mktemp)
trap 'rm -rf "$output" "$readme"; [ -n "${HEADGATE_SCRATCH:-}" ] || rm -rf "$scratch"' EXIT

build() { # a package
  swift build ${TEST_BUILD:-} --package-path "$1" --scratch-path "$scratch" > "$output" 2>&1 || { cat "$output" >&2; exit 1; }
  if grep -E "/Examples/[^:]*:[0-9]+:[0-9]+: warning:" "$output"; then
    echo "warnings are errors" >&2
    exit 1
  fi
}

compare() { # what should be printed, and the program with its arguments
  timeout -k 5 60 "$scratch/debug/$2" "${@:3}" > "$output"
  diff "$1" "$output"
  echo "$2 prints what it should"
}

# The README shows the code and the output of this one.
build Examples/FirstDispatch
python3 - > "$readme" << 'PY'
import pathlib, re, sys
readme = pathlib.Path("README.md").read_text()
source = pathlib.Path("Examples/FirstDispatch/Sources/FirstDispatch/main.swift").read_text()
block = re.findall(r"```swift\n(.*?)```", readme, re.S)[0]
if block.strip() != source.strip():
    sys.exit("README.md: the first example differs from Examples/FirstDispatch")
if readme[: readme.index(block)].count("\n") > 45:
    sys.exit("README.md: the first example begins after line 45")
print(re.findall(r"```text\n(.*?)```", readme, re.S)[0].strip())
PY
compare "$readme" FirstDispatch

for package in ChunkedUpload Service; do
  build "Examples/$package"
  compare "Examples/$package/Expected.txt" "$package"
done
build Examples/ProducerConsumer
compare Examples/ProducerConsumer/Expected.txt ProducerConsumer slideshow
build Examples/Programs
for expected in Examples/Programs/Expected/*.txt; do compare "$expected" "$(basename "$expected" .txt)"; done

if [ "${1:-}" = all ]; then
  build Examples/WebService
  compare Examples/WebService/Expected.txt WebService
fi
