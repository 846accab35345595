#!/bin/sh
# Installs the command that `make install` has built: the program, its manual pages, and completions for bash, zsh and
# fish. `install.sh PREFIX`. If DESTDIR is set, it is put before PREFIX, as package builders expect.
set -eu
cd "$(dirname "$0")/.."
swift=${SWIFT:-swift}
to=${DESTDIR:-}$1
# Debian has a separate folder for the zsh completions of packages.
zsh=$to/${ZSH_COMPLETIONS:-share/zsh/site-functions}

program=$("$swift" build -c release --static-swift-stdlib --show-bin-path)/headgate
install -d "$to/bin" "$to/share/man/man1" "$to/share/bash-completion/completions" "$zsh" \
  "$to/share/fish/vendor_completions.d"
install -m 755 "$program" "$to/bin/headgate"
strip "$to/bin/headgate" 2> /dev/null || true
"$program" --generate-completion-script bash > "$to/share/bash-completion/completions/headgate"
"$program" --generate-completion-script zsh > "$zsh/_headgate"
"$program" --generate-completion-script fish > "$to/share/fish/vendor_completions.d/headgate.fish"

rm -rf .build/plugins/GenerateManual/outputs
"$swift" package plugin generate-manual --multi-page > .install.log 2>&1 || { cat .install.log >&2; exit 1; }
rm -f .install.log
outputs=.build/plugins/GenerateManual/outputs/HeadgateTool
# `headgate origin` is hidden from the help, and `headgate help` needs no page.
pages=$(cd "$outputs" && ls ./*.1 | sed 's|^\./||; s|\.1$||' | grep -v '\.origin$\|\.help$' | tr . - | LC_ALL=C sort | tr '\n' ' ')
for page in $pages; do
  awk -v pages="$pages" -f scripts/manual.awk "$outputs/$(echo "$page" | tr - .).1" > "$to/share/man/man1/$page.1"
  chmod 644 "$to/share/man/man1/$page.1"
done
echo "installed in $to: bin/headgate, manual pages, and completions for bash, zsh and fish"
