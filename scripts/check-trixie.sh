#!/usr/bin/env bash
# Runs tests that were built here in a bare Debian 13, with its libcurl, OpenSSL and nginx: those of the transports and of
# what the command sends. Then those of the trait Redis, on Valkey. Needs root, and what `swift build --build-tests` and
# `HEADGATE_SCRATCH=.build-packages scripts/check-redis.sh build` have built. With `build`, only makes the bare system.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
. scripts/debian-root.sh

root=$PWD/.build-trixie
if [ ! -e "$root/complete" ]; then
  rm -rf "$root"
  make_debian trixie "$root"
  # The tests' tools, without the browser, and those of Redis'.
  install_in_debian "$root" ca-certificates curl jq libcurl4t64 nginx-light openssl procps python3 strace stunnel4 valkey-server
  touch "$root/complete"
fi
[ "${1:-}" != build ] || exit 0
trap 'rm -rf "$root"' EXIT

# The programs load Swift's libraries from the toolchain.
swift=$(readlink -f "$(command -v swift)")
folders=("${swift%/usr/bin/*}" "$PWD")
run() { # a variable, the test program, and its arguments
  in_debian "$root" "${folders[@]}" -- env "$1" HEADGATE_TEST_PROGRAM="$PWD/$2" \
    "$PWD/scripts/run-tests.sh" --no-parallel "${@:3}"
}

run CI=true .build/debug/headgatePackageTests.xctest --filter 'HeadgateCurlTests|ContractTests|HeadgateCommandTests.(Fetch|Call|Cookie|Session)' \
  --filter 'AcceptanceTests.*(ConnectionTests|ConnectionOptionTests|FetchAcceptanceTests|HTTP2Tests|OpenFilesTests|ProxyTests|TLSTests|TLSOptionTests)'
run HEADGATE_REDIS_SERVER=valkey-server .build-packages/debug/redisPackageTests.xctest
in_debian "$root" -- sh -c 'curl --version | head -n 1; openssl version; valkey-server --version'
