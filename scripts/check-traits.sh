#!/usr/bin/env bash
# Checks the trait AsyncHTTPClient: without it no part of NIO is fetched, and with it the client keeps to a gate's limits.
# The second half builds async-http-client and its dependencies, in about six minutes on two cores. With `build`, it is only
# built; with `plain`, only the first half runs.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

package=(--package-path Tests/TraitTest --scratch-path .build-traits)
if [ "${1:-}" = build ]; then exec swift build --build-tests ${TEST_BUILD:-} "${package[@]}"; fi

nio='swift-nio|async-http-client|swift-crypto|swift-certificates'

# Resolved as in a fresh clone: with a Package.resolved that was written with the trait, NIO is fetched without it too.
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
cp Package.swift "$fresh"
ln -s "$PWD/Sources" "$PWD/Tests" "$fresh"
dependencies=$(swift package --package-path "$fresh" show-dependencies)
if grep -E "$nio" <<< "$dependencies" || ls "$fresh/.build/checkouts" "$fresh/.build/repositories" | grep -E "$nio"; then
  echo "without the trait AsyncHTTPClient something of NIO is fetched" >&2
  exit 1
fi
[ "${1:-}" != plain ] || exit 0

scripts/run-tests.sh --no-parallel ${TEST_BUILD:-} "${package[@]}"
# The patterns above, and those of scripts/check-linkage.sh, find NIO where it is present.
if ! ls .build-traits/checkouts | grep -qE "$nio"; then
  echo "NIO is not seen where it must be: the check above sees nothing" >&2
  exit 1
fi
program=$(find .build-traits/debug/ -maxdepth 1 -name '*PackageTests.xctest' | head -n 1)
if [ "$(nm "$program" | grep -cE '\$s[0-9]*(NIOCore|AsyncHTTPClient)[0-9A-Z]')" -eq 0 ]; then
  echo "symbols of NIO are not found where they must be" >&2
  exit 1
fi
rm -rf .build-traits
echo "the trait AsyncHTTPClient is as it should be"
