#!/usr/bin/env bash
# Tries what `make dist` gives to users. `check-dist.sh PROGRAM` packages a program that is already built, such as
# .build/debug/headgate, twice, compares the results, and tries tarball and package on this system, without changes to it.
# `check-dist.sh --bare SUITE …` tries out/dist in bare systems of Debian, such as bookworm and trixie, which have neither
# Swift nor libcurl; that needs root and the network. A fetch from a server on this machine must work in all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

fail() { echo "$*" >&2; exit 1; }
version=$(sed -n 's/.*current = "\(.*\)".*/\1/p' Sources/HeadgateCommand/Command/HeadgateVersion.swift)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

check_sums() { # a folder: the files, and those of the tarball, which is unpacked into $folder/unpacked
  (cd "$1" && sha256sum --quiet --strict -c SHA256SUMS)
  rm -rf "$folder/unpacked"
  mkdir "$folder/unpacked"
  tar -xzf "$1"/headgate-*.tar.gz -C "$folder/unpacked" --strip-components 1
  (cd "$folder/unpacked" && sha256sum --quiet --strict -c SHA256SUMS)
}

here() {
  scripts/dist.sh --trial "$1" "$folder/first"
  scripts/dist.sh --trial "$1" "$folder/second" > "$folder/log"
  diff "$folder/first/SHA256SUMS" "$folder/second/SHA256SUMS" || fail "the same program gives other files"
  check_sums "$folder/first"
  python3 - "$folder/first/headgate-$version.spdx.json" << 'PY'
import json, sys
document = json.load(open(sys.argv[1]))
names = {package["name"] for package in document["packages"]}
assert {"headgate", "swift-argument-parser", "swift-http-types", "libcurl.so.4"} <= names, names
# Of the libraries only, and of the trait AsyncHTTPClient.
assert not {"swift-metrics", "swift-distributed-tracing", "swift-nio"} & names, names
known = {package["SPDXID"] for package in document["packages"] + document["files"]} | {"SPDXRef-DOCUMENT"}
for each in document["relationships"]:
    assert {each["spdxElementId"], each["relatedSpdxElement"]} <= known, each
for package in document["packages"]:
    if package["name"].startswith("swift-"):
        assert package["licenseDeclared"].startswith("Apache-2.0") and package["versionInfo"], package
PY
  echo "== the tarball"
  scripts/try-installed.sh "$folder/unpacked" "$version" "$folder/tarball"
  echo "== the package"
  local root=$folder/root
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
  touch "$root/var/lib/dpkg/status"
  # Images of systems may leave manual pages out.
  in_root() {
    PATH=$PATH:/usr/sbin:/sbin dpkg --root="$root" --log=/dev/null --force-not-root --force-depends --path-include='*' "$@" \
      > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
  }
  in_root --install "$folder"/first/headgate_*.deb
  scripts/try-installed.sh "$root/usr" "$version" "$folder/package"
  (cd "$root" && md5sum --quiet -c var/lib/dpkg/info/headgate.md5sums)
  in_root --remove headgate
  [ ! -e "$root/usr/share/doc/headgate" ] || fail "removing the package leaves files"
  echo "the tarball and the package serve, and the same program gives the same files"
}

bare() {
  . scripts/debian-root.sh
  local suite root
  check_sums out/dist
  for suite in "$@"; do
    root=$folder/$suite
    make_debian "$suite" "$root"
    cp out/dist/headgate_*.deb "$root/tmp/headgate.deb"
    cp scripts/try-installed.sh "$root/tmp"
    cp -R "$folder/unpacked" "$root/opt/headgate"
    install_in_debian "$root" man-db
    if in_debian "$root" -- sh -c 'command -v swift'; then fail "Swift is here, so this trial would prove nothing"; fi
    install_in_debian "$root" /tmp/headgate.deb
    echo "== $suite: the package"
    # The package names all that the program needs: apt has installed nothing else.
    in_debian "$root" -- sh /tmp/try-installed.sh /usr "$version" /tmp/package
    in_debian "$root" -- headgate demo
    in_debian "$root" -- sh -c 'apt-get remove -q -y headgate > /dev/null 2>&1'
    [ ! -e "$root/usr/bin/headgate" ] || fail "apt remove leaves the program"
    echo "== $suite: the tarball"
    # The libraries that apt installed for the package are still there.
    in_debian "$root" -- sh /tmp/try-installed.sh /opt/headgate "$version" /tmp/tarball
    rm -rf "$root"
  done
  echo "the package and the tarball serve on bare systems: $*"
}

case ${1:-} in
  --bare) bare "${@:2}" ;;
  ?*) here "$1" ;;
  *) fail "usage: check-dist.sh PROGRAM | --bare SUITE …" ;;
esac
