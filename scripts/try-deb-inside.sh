#!/bin/sh
# Installs /tmp/headgate.deb in the bare Debian that try-deb.sh has made, and tries it: `try-deb-inside.sh VERSION`.
set -eu
version=$1
fail() { echo "$*" >&2; exit 1; }

export DEBIAN_FRONTEND=noninteractive
apt-get update -q > /tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; exit 1; }
command -v swift > /dev/null && fail "Swift is installed here, so this trial would prove nothing"
apt-get install -q -y /tmp/headgate.deb > /tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; exit 1; }
apt-get install -q -y --no-install-recommends man-db > /tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; exit 1; }

if ldd /usr/bin/headgate | grep 'libswift\|libFoundation\|not found'; then fail "the program needs more than Debian has"; fi
headgate --version
headgate --version | grep -qF "headgate $version " || fail "the package installs another version"
headgate demo

# The command's own test server, which ends when its input ends.
mkfifo /tmp/commands
headgate origin --limit 2 < /tmp/commands > /tmp/ports &
exec 3> /tmp/commands
until grep -q ports /tmp/ports; do sleep 0.1; done
port=$(grep -o '[0-9][0-9]*' /tmp/ports | head -n 1)
printf "http://127.0.0.1:$port/bytes/%d\n" 1000 2000 3000 > /tmp/urls.txt
headgate fetch -i /tmp/urls.txt --per-host 2 -P /tmp/out
exec 3>&-
wait
[ "$(cat /tmp/out/* | wc -c)" -eq 6000 ] || fail "headgate fetch has written other bytes"

MANPAGER=cat man headgate | grep -q 'headgate-fetch' || fail "man headgate does not name headgate-fetch"
subcommands=$(headgate --help | sed -n '/^SUBCOMMANDS/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$subcommands" ] || fail "headgate --help names no subcommands"
for name in $subcommands; do
  MANPAGER=cat man "headgate-$name" > /dev/null || fail "there is no manual page of headgate $name"
done
for file in bash-completion/completions/headgate zsh/vendor-completions/_headgate fish/vendor_completions.d/headgate.fish; do
  [ -s "/usr/share/$file" ] || fail "/usr/share/$file is missing"
done
apt-get remove -q -y headgate > /tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; exit 1; }
[ ! -e /usr/bin/headgate ] || fail "apt remove leaves the program"
