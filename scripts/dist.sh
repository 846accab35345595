#!/usr/bin/env bash
# Makes what is given to users, in out/dist: a tarball, a Debian package, an SBOM (SPDX) and SHA256SUMS. All of them have
# the same program, from `make dist`, and the same program gives the same files.
#
# `dist.sh PROGRAM` packages a program that is already built. `dist.sh --trial PROGRAM FOLDER` packages any build into
# FOLDER, which must not exist yet, to try the packages only: the program may load Swift's own libraries, and files are
# packed with less care.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
umask 022

fail() { echo "$*" >&2; exit 1; }
export TRIAL=
if [ "${1:-}" = --trial ]; then
  TRIAL=1
  shift
fi
program=${1:?"usage: dist.sh [--trial] PROGRAM [FOLDER]"}
out=${2:-out/dist}
# Below, the folder is removed first.
[ "$#" -lt 2 ] || [ ! -e "$out" ] || fail "$out exists: name a new folder"
[ "$(uname -s)" = Linux ] || fail "packages are made on Linux only"
version=$(sed -n 's/.*current = "\(.*\)".*/\1/p' Sources/HeadgateCommand/Command/HeadgateVersion.swift)
[[ "$("$program" --version)" == "headgate $version "* ]] || fail "$program is not version $version: build it anew"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
name=headgate-$version-linux-$(uname -m)
tree=$folder/$name
DESTDIR=$tree scripts/install.sh "" "$program" > /dev/null
if [ -z "$TRIAL" ]; then
  # Not in a pipe, which fails too if grep ends before readelf does.
  needed=$(readelf -d "$tree/bin/headgate")
  ! grep -q 'NEEDED.*libswift' <<< "$needed" \
    || fail "$program loads Swift's libraries: build it with --static-swift-stdlib"
  ! grep -qaF -e "$PWD/" "$tree/bin/headgate" || fail "$program has the name of this folder in it: $PWD"
fi
rm -rf "$out"
mkdir -p "$out"

cp README.md SECURITY.md CHANGELOG.md LICENSE "$tree"
scripts/sbom.py "$tree/bin/headgate" "$version" > "$out/headgate-$version.spdx.json"
cp "$out/headgate-$version.spdx.json" "$tree/headgate.spdx.json"
scripts/requirements.py "$tree/bin/headgate" > "$tree/REQUIREMENTS"
(cd "$tree" && find . -type f ! -name SHA256SUMS -print0 | sort -z | xargs -0 sha256sum > SHA256SUMS)
tar --create --directory "$folder" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
  --mode=u+rw,go=rX "$name" | gzip -n ${TRIAL:+-1} > "$out/$name.tar.gz"
scripts/build-deb.sh "$program" "$version" "$out"
(cd "$out" && sha256sum -- * > "$folder/sums" && mv "$folder/sums" SHA256SUMS)

echo "== $out"
cat "$out/SHA256SUMS"
echo "== needed by the program"
cat "$tree/REQUIREMENTS"
