#!/usr/bin/env bash
# Checks that HeadgateDispatch links neither NIO nor FoundationNetworking, metrics or tracing, that HeadgateGate links
# nothing of HTTP either, and that HeadgateFlow links no Foundation at all. Builds programs that use only one of these
# modules, and looks at the libraries that they load and the symbols that they contain.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -s)" = Linux ] || { echo "checked on Linux only"; exit 0; }

scratch=${HEADGATE_SCRATCH:-.build-linkage}
swift build ${TEST_BUILD:-} --package-path Tests/LinkageTest --scratch-path "$scratch"
programs=$(swift build --package-path Tests/LinkageTest --scratch-path "$scratch" --show-bin-path)
program=$programs/linkage
needed=$(ldd "$program")
for library in libFoundationNetworking libcurl libFoundationXML lib_FoundationICU; do
  if grep -q "$library" <<< "$needed"; then
    echo "HeadgateDispatch links $library:" >&2
    echo "$needed" >&2
    exit 1
  fi
done
http='\$s[0-9]*(HTTPTypes|HeadgateDispatch)[0-9]'
if nm "$programs/gatelinkage" | grep -E "$http" > "$scratch/found"; then
  echo "HeadgateGate holds HTTP:" >&2
  head -5 "$scratch/found" >&2
  exit 1
fi
if ! nm "$program" | grep -E "$http" > "$scratch/found"; then
  echo "HTTP is not found where it must be: the test above sees nothing" >&2
  exit 1
fi
needed=$(ldd "$programs/flowlinkage")
if grep -qE 'Foundation|libcurl' <<< "$needed"; then
  echo "HeadgateFlow links Foundation or libcurl:" >&2
  echo "$needed" >&2
  exit 1
fi
# Swift packages are linked statically, so their symbols are searched. A program that uses them shows that this works.
instruments='\$s[0-9]*(CoreMetrics|Metrics|Tracing|Instrumentation)[0-9]'
for name in linkage gatelinkage flowlinkage; do
  if nm "$programs/$name" | grep -E "$instruments" > "$scratch/found"; then
    echo "$name holds metrics or tracing:" >&2
    head -5 "$scratch/found" >&2
    exit 1
  fi
done
if ! nm "$programs/instrumentlinkage" | grep -E "$instruments" > "$scratch/found"; then
  echo "metrics and tracing are not found where they must be: the test above sees nothing" >&2
  exit 1
fi
# scripts/check-traits.sh shows that these patterns find NIO where it is present.
if ls "$scratch/checkouts" "$scratch/repositories" | grep -E 'swift-nio|async-http-client'; then
  echo "a plain build fetches NIO" >&2
  exit 1
fi
for name in linkage gatelinkage flowlinkage instrumentlinkage; do
  if nm "$programs/$name" | grep -E '\$s[0-9]*(NIOCore|AsyncHTTPClient)[0-9A-Z]' > "$scratch/found"; then
    echo "$name holds NIO:" >&2
    head -5 "$scratch/found" >&2
    exit 1
  fi
done
"$program"
"$programs/gatelinkage"
"$programs/flowlinkage"
"$programs/instrumentlinkage"
[ -n "${HEADGATE_SCRATCH:-}" ] || rm -rf "$scratch"
echo "linkage is as it should be"
