#!/usr/bin/env bash
# Tries the two commands of the README as a new user of Debian would: `try-debian.sh SUITE`, such as trixie.
#
# In a bare system of that suite, which has only what Swift itself needs, it clones the last commit and runs `make demo`
# and `make test`. Swift is this machine's own. Needs root, and half an hour on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
. scripts/debian-root.sh

suite=${1:?"usage: try-debian.sh SUITE, such as bookworm, trixie or sid"}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/$suite
make_debian "$suite" "$root"
# Swift's programs load libxml2.so.2, which newer suites have no longer.
libxml2=
case $suite in bookworm | trixie) ;; *)
  sed "s/ $suite / trixie /" "$root/etc/apt/sources.list" > "$root/etc/apt/sources.list.d/trixie.list"
  libxml2=libxml2
esac
# What swift.org lists for Debian, as far as the compiler and the package manager need it, and `make`.
install_in_debian "$root" ca-certificates git g++ libedit2 libncurses6 libsqlite3-0 libxml2-dev make $libxml2

# The toolchain, and git's settings with the folders from which they take packages.
swift=$(readlink -f "$(command -v swift)")
folders=("${swift%/bin/*}")
while read -r key from; do
  place=${key#url.} place=${place%.insteadof}
  git config --file "$root/root/.gitconfig" --add "url.$place.insteadOf" "$from"
  case $place in /*) folders+=("$place") ;; esac
done < <(git config --get-regexp '^url\..*\.insteadof$' || true)
export DEBIAN_PATH=${swift%/*}:/usr/sbin:/usr/bin:/sbin:/bin

git clone -q . "$root/root/headgate"
for command in "make demo" "make test"; do
  printf '\n== %s, %s (%s)\n' "$suite" "$command" "$(date -u +%H:%M:%S)"
  in_debian "$root" "${folders[@]}" -- sh -c "cd /root/headgate && $command"
done
printf '\n== both commands pass on a bare %s: %s (%s)\n' "$suite" \
  "$(in_debian "$root" -- sh -c 'curl --version | head -n 1 | cut -d" " -f4')" "$(date -u +%H:%M:%S)"
