#!/usr/bin/env bash
# Tries the results of `make install` and `make deb`: an installation in a temporary folder, and the Debian package in a
# bare Debian 12, which has neither Swift nor libcurl. Needs root, to set up the bare system and to run apt in it.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

fail() { echo "$*" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || fail "A bare Debian can only be made by root: sudo make try-deb"
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

echo "== a bare Debian 12"
root=$folder/root
debootstrap --variant=minbase bookworm "$root" ${MIRROR:+"$MIRROR"} > "$folder/debootstrap.log" \
  || { tail -20 "$folder/debootstrap.log" >&2; fail "debootstrap has failed"; }
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp "$package" "$root/tmp/headgate.deb"
cp scripts/try-deb-inside.sh "$root/tmp/try.sh"
# The mounts and the processes of the bare system end with this command.
unshare --mount --pid --fork bash -euc '
  mount -t proc proc "$0/proc"
  mount --rbind /dev "$0/dev"
  exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 sh /tmp/try.sh "$1"
' "$root" "$version"
echo "the package installs and runs on a bare Debian 12"
