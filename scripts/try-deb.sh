#!/usr/bin/env bash
# Tries the results of `make install` and `make deb`: an installation in a temporary folder, and the Debian package in a
# bare Debian 12, which has neither Swift nor libcurl. Needs root, to set up the bare system and to run apt in it.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
. scripts/debian-root.sh

fail() { echo "$*" >&2; exit 1; }
version=$(sed -n 's/.*current = "\(.*\)".*/\1/p' Sources/HeadgateCommand/Command/HeadgateVersion.swift)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo "== make install, into $folder/installed"
DESTDIR=$folder/installed scripts/install.sh /opt/headgate
installed=$folder/installed/opt/headgate
[[ "$("$installed/bin/headgate" --version)" == "headgate $version "* ]] || fail "the installed command has another version"
for name in bash-completion/completions/headgate zsh/site-functions/_headgate fish/vendor_completions.d/headgate.fish; do
  grep -q per-host "$installed/share/$name" || fail "share/$name completes no --per-host"
done
bash -n "$installed/share/bash-completion/completions/headgate"
# Each subcommand in the help has its page.
for name in $("$installed/bin/headgate" --help | sed -n '/^SUBCOMMANDS/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  grep -q '^\.Sh DESCRIPTION\|^\.Sh OPTIONS\|^\.Sh SYNOPSIS' "$installed/share/man/man1/headgate-$name.1" \
    || fail "headgate $name has no manual page"
done
if [ -e "$installed/share/man/man1/headgate-origin.1" ]; then fail "headgate origin is for the demo only"; fi

echo "== the package"
packages=(.build/deb/headgate_*.deb)
package=${packages[0]}
dpkg-deb --info "$package"
dpkg-deb --contents "$package"
dpkg-deb --field "$package" Depends | grep -q libcurl4 || fail "the package does not depend on libcurl4"
[ "$(dpkg-deb --field "$package" Version)" = "$version" ] || fail "the package has another version"

root=$folder/root
make_debian bookworm "$root"
cp "$package" "$root/tmp/headgate.deb"
cp scripts/try-deb-inside.sh "$root/tmp/try.sh"
in_debian "$root" -- sh /tmp/try.sh "$version"
echo "the package installs and runs on a bare Debian 12"
