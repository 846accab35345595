#!/usr/bin/env bash
# The core links neither NIO nor FoundationNetworking: builds a program that uses HeadgateDispatch alone and asks the
# loader what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -s)" = Linux ] || { echo "checked on Linux only"; exit 0; }

swift build --package-path Tests/LinkageTest --scratch-path .build-linkage
program=$(swift build --package-path Tests/LinkageTest --scratch-path .build-linkage --show-bin-path)/linkage
needed=$(ldd "$program")
for library in libFoundationNetworking libcurl libFoundationXML lib_FoundationICU; do
  if grep -q "$library" <<< "$needed"; then
    echo "HeadgateDispatch links $library:" >&2
    echo "$needed" >&2
    exit 1
  fi
done
if ls -d .build-linkage/checkouts/swift-nio* 2> /dev/null; then
  echo "a plain build fetches NIO" >&2
  exit 1
fi
"$program"
rm -rf .build-linkage
echo "linkage is as it should be"
