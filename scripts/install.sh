#!/bin/sh
# Installs the command: the program, its manual pages, and completions for bash, zsh and fish.
# `install.sh PREFIX [PROGRAM]`; without PROGRAM, the one that `make install` has built. If DESTDIR is set, it is put before
# PREFIX, as package builders expect.
set -eu
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}
to=${DESTDIR:-}$1
# Debian has a separate folder for the zsh completions of packages.
zsh=$to/${ZSH_COMPLETIONS:-share/zsh/site-functions}

program=${2:-$("$swift" build -c release --static-swift-stdlib --show-bin-path)/headgate}
bash=$to/share/bash-completion/completions
fish=$to/share/fish/vendor_completions.d
manual=$to/share/man/man1
install -d "$to/bin" "$manual" "$bash" "$zsh" "$fish"
install -m 755 "$program" "$to/bin/headgate"
strip "$to/bin/headgate" 2> /dev/null || true
"$program" --generate-completion-script bash > "$bash/headgate"
"$program" --generate-completion-script zsh > "$zsh/_headgate"
"$program" --generate-completion-script fish > "$fish/headgate.fish"
scripts/manual.py "$program" "$manual"
chmod 644 "$manual"/headgate*.1 "$bash/headgate" "$zsh/_headgate" "$fish/headgate.fish"
echo "installed in $to: bin/headgate, manual pages, and completions for bash, zsh and fish"
