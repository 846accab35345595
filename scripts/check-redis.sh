#!/usr/bin/env bash
# The trait Redis: the module's tests on a real server. They are a package of their own, since the library's plain build
# knows nothing of Redis. About a minute on two cores. Arguments go to `swift test`.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

scripts/ensure-packages.sh redis
scripts/run-tests.sh --no-parallel --package-path Tests/RedisTest --scratch-path .build-redis "$@"
rm -rf .build-redis
echo "the trait Redis is as it should be"
