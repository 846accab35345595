#!/usr/bin/env bash
# Checks the code for Apple's systems, as far as that is possible without a Mac:
# - C: zig's clang compiles it with Apple's headers, for macOS on both processors and for iOS, and links it. What
#   Apple's libSystem exports is known to zig for macOS; iOS is taken to export the same.
# - Swift: the compiler checks every module as for macOS 15, with Apple's C headers. Tests/AppleStub declares what is
#   missing: Foundation, Dispatch and the Swift half of Darwin. A mistake in those declarations is not found.
# Not checked: what the code does, tests, tvOS, the trait AsyncHTTPClient, and how Swift is compiled and linked.
# Takes two minutes on two cores, after a debug build.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
[ "$(uname -s)" = Linux ] || { echo "checked on Linux only: a Mac builds it"; exit 0; }

scripts/ensure-packages.sh apple
folder=$PWD/.build-apple
trap 'rm -rf "$folder"' EXIT
rm -rf "$folder"
mkdir -p "$folder/sdk/usr"
# No virtual environment: on Debian that would need another package. Debian's pip installs into a folder of its own.
python3 -m pip install -q --disable-pip-version-check --root-user-action ignore --no-cache-dir --no-deps \
  --target "$folder/packages" ziglang==0.17.1
zig=$folder/packages/ziglang
export ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache

# Apple's headers, and those of libcurl and zlib. Alone, so that none of Linux can stand in for a missing one.
headers=$folder/sdk/usr/include
find_header() { echo "#include <$1>" | cc -M -x c - | tr ' ' '\n' | grep "/$1\$" | sort -u; }
cp -r "$zig/lib/libc/include/any-darwin-any" "$headers"
cp -r Tests/AppleStub/include/. "$headers"
cp -r "$(dirname "$(find_header curl/curl.h)")" "$headers/curl"
cp "$(find_header zlib.h)" "$(find_header zconf.h)" "$headers"

# Only libraries that are named here are linked, so a function that none of them has is an error.
cp "$zig/lib/libc/darwin/libSystem.tbd" "$folder/macos.tbd"
sed 's/-macos/-ios/g' "$folder/macos.tbd" > "$folder/ios.tbd"
{
  targets='[ arm64-macos, x86_64-macos, arm64-ios ]'
  printf -- '--- !tapi-tbd\ntbd-version: 4\ntargets: %s\ninstall-name: curl\nexports:\n' "$targets"
  printf -- '  - targets: %s\n    symbols: [ ' "$targets"
  nm -D --defined-only "$(cc -print-file-name=libcurl.so)" "$(cc -print-file-name=libz.so)" \
    | awk '$2 == "T" { sub(/@.*/, "", $3); print "_" $3 }' | paste -sd ,
  printf ' ]\n...\n'
} > "$folder/curl.tbd"

for target in aarch64-macos.15.0 x86_64-macos.15.0 aarch64-ios.18.0; do
  system=${target#*-}
  system=${system%%.*}
  # The headers' inline functions are for Swift, and nothing calls them here: the attribute compiles them nevertheless.
  "$zig/zig" cc -target "$target" -std=c11 -Wall -Wextra -Werror -fno-sanitize=all \
    '-Dinline=__attribute__((used)) inline' -nostdinc -isystem "$zig/lib/include" -isystem "$headers" \
    -I Sources/CHeadgate/include -I Sources/CCurl/include -I Tests/CStallingResolver/include \
    -dynamiclib -nostdlib -o "$folder/library" Sources/CHeadgate/*.c Sources/CCurl/*.c Tests/CStallingResolver/*.c \
    "$folder/$system.tbd" "$folder/curl.tbd"
  echo "valid C for $target"
done

# Whatever it builds, it writes the arguments of the compiler for all modules. This target has a generated source.
"${SWIFT:-swift}" build ${TEST_BUILD:-} --target HeadgateReport
Tests/AppleStub/typecheck.py "$folder"
