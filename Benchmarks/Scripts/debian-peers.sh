#!/usr/bin/env bash
# Makes curl, aria2c and wget2 of another Debian run here: `debian-peers.sh SUITE FOLDER`, such as `sid /var/tmp/sid`.
# They are installed in a bare Debian in that new folder, and run with its libraries. Prints the variables that
# Benchmarks/run takes. Needs root.
set -euo pipefail
suite=${1:?"usage: debian-peers.sh SUITE FOLDER"} folder=$(realpath -m "${2:?"usage: debian-peers.sh SUITE FOLDER"}")
cd "$(dirname "$0")/../.."
. scripts/debian-root.sh

make_debian "$suite" "$folder" >&2
install_in_debian "$folder" curl aria2 wget2
for name in curl aria2c wget2; do
  # wget2 loads a library from a folder of its own.
  cat > "$folder/$name" <<SH
#!/bin/bash
root=$(printf %q "$folder") libraries=\$root/usr/lib/$(uname -m)-linux-gnu
exec "\$root"/lib*/ld-linux-*.so.* --argv0 $name --library-path "\$libraries:\$libraries/libproxy" \\
  "\$root/usr/bin/$name" "\$@"
SH
  chmod +x "$folder/$name"
done
printf 'PEER_CURL=%q PEER_ARIA2=%q PEER_WGET2=%q\n' "$folder"/{curl,aria2c,wget2}
