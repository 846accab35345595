#!/usr/bin/env bash
# Checks the trait Redis: the module's tests on a real server, its example, its documentation and its page in
# docs/reference. The tests are a separate package, since the library's build without the trait leaves the module empty.
# Takes about two minutes on two cores. With arguments, which are passed to `swift test`, only the tests run; with
# `build`, they are only built. HEADGATE_SCRATCH is a scratch path for several such packages, in which Headgate is built
# once.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

scripts/ensure-packages.sh redis
scratch=${HEADGATE_SCRATCH:-.build-redis}
package=(--package-path Tests/RedisTest --scratch-path "$scratch")
if [ "${1:-}" = build ]; then exec swift build --build-tests ${TEST_BUILD:-} "${package[@]}"; fi
scripts/run-tests.sh --no-parallel ${TEST_BUILD:-} "${package[@]}" "$@"

if [ $# -eq 0 ]; then
  # The tests' package also keeps its build manifest in this folder.
  swift build ${TEST_BUILD:-} --disable-build-manifest-caching --package-path Examples/TwoMachines --scratch-path "$scratch"
  diff Examples/TwoMachines/Expected.txt <(timeout -k 5 60 "$scratch/debug/TwoMachines")
  if command -v docc > /dev/null; then
    graphs=$(mktemp -d)
    trap 'rm -rf "$graphs"' EXIT
    scripts/convert-docs.sh HeadgateRedis "$scratch/debug" "$graphs" "$graphs"
    scripts/reference.py "$graphs" HeadgateRedis
  fi
fi
[ -n "${HEADGATE_SCRATCH:-}" ] || rm -rf "$scratch"
echo "the trait Redis is as it should be"
