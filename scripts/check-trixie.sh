#!/usr/bin/env bash
# Runs tests that were built here in a bare Debian 13, with its libcurl, OpenSSL and nginx: those of the transports and of
# what the command sends. Then those of the trait Redis, on Valkey. Needs root, and what `swift build --build-tests` and
# `scripts/check-redis.sh build` have built.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
. scripts/debian-root.sh

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/trixie
make_debian trixie "$root"
# The tests' tools, without the browser, and those of Redis'.
install_in_debian "$root" curl jq libcurl4t64 nginx-light openssl procps python3 strace stunnel4 valkey-server

# The programs load Swift's libraries from the toolchain.
swift=$(readlink -f "$(command -v swift)")
folders=("${swift%/usr/bin/*}" "$PWD")
run() { # the folder of the build, then the arguments of the test program
  local program
  program=$(find -L "$1" -maxdepth 2 -path '*/debug/*.xctest' | head -n 1)
  [ -n "$program" ] || { echo "there are no tests in $1: build them first" >&2; exit 1; }
  shift
  in_debian "$root" "${folders[@]}" -- env HEADGATE_TESTS="$PWD/$program" "${variables[@]}" \
    "$PWD/scripts/run-tests.sh" --no-parallel "$@"
}

variables=()
run .build --filter 'HeadgateCurlTests|ContractTests|HeadgateCommandTests.(Fetch|Call|Cookie|Session)' \
  --filter 'AcceptanceTests.*(ConnectionTests|ConnectionOptionTests|FetchAcceptanceTests|HTTP2Tests|ProxyTests|TLSTests|TLSOptionTests)'
variables=(HEADGATE_REDIS_SERVER=valkey-server)
run .build-redis
in_debian "$root" -- sh -c 'curl --version | head -n 1; openssl version; valkey-server --version'
