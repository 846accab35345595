#!/bin/sh
# Tries an installed command: `try-installed.sh PREFIX VERSION FOLDER` lets PREFIX/bin/headgate fetch from its own test
# server on this machine, and looks for a manual page of each subcommand and for the completions. FOLDER is for its files.
set -eu
prefix=$1
version=$2
folder=$3
headgate=$prefix/bin/headgate
fail() { echo "$*" >&2; exit 1; }
# Neither settings nor state of this machine.
export XDG_STATE_HOME="$folder/state" XDG_CONFIG_HOME="$folder/config" LC_ALL=C.UTF-8
mkdir -p "$folder"

if ldd "$headgate" | grep 'not found'; then fail "the program needs more than this system has"; fi
"$headgate" --version
"$headgate" --version | grep -qF "headgate $version " || fail "$headgate is another version"

# The command's own test server, which ends when its input ends.
mkfifo "$folder/commands"
: > "$folder/ports"
"$headgate" origin --limit 2 < "$folder/commands" > "$folder/ports" &
origin=$!
exec 3> "$folder/commands"
until grep -q ports "$folder/ports"; do
  kill -0 "$origin" || fail "$headgate origin has ended"
  sleep 0.1
done
port=$(grep -o '[0-9][0-9]*' "$folder/ports" | head -n 1)
printf "http://127.0.0.1:$port/bytes/%d\n" 1000 2000 3000 > "$folder/urls.txt"
"$headgate" fetch -i "$folder/urls.txt" --per-host 2 -P "$folder/out"
exec 3>&-
wait
[ "$(cat "$folder/out/"* | wc -c)" -eq 6000 ] || fail "headgate fetch has written other bytes"

manual=$prefix/share/man/man1
subcommands=$("$headgate" --help | sed -n '/^SUBCOMMANDS/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
[ -n "$subcommands" ] || fail "headgate --help names no subcommands"
for name in headgate $(echo "$subcommands" | sed 's/^/headgate-/'); do
  page=$(ls "$manual/$name".1*) || fail "there is no manual page of $name"
  MANPAGER=cat man --warnings=w -l "$page" > "$folder/page" 2> "$folder/warnings"
  [ ! -s "$folder/warnings" ] || { cat "$folder/warnings" >&2; fail "troff warns of $page"; }
  grep -q "^ *$(echo "$name" | sed 's/-/ /')" "$folder/page" || fail "$page has no synopsis of $name"
done
if ls "$manual"/headgate-origin.1* 2> /dev/null; then fail "headgate origin is for tests only"; fi

zsh=$(ls "$prefix"/share/zsh/*/_headgate)
bash=$prefix/share/bash-completion/completions/headgate
for file in "$zsh" "$bash" "$prefix/share/fish/vendor_completions.d/headgate.fish"; do
  grep -q per-host "$file" || fail "$file completes no --per-host"
done
bash -n "$bash"
