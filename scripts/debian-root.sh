#!/usr/bin/env bash
# Bare Debian systems, for the scripts that try Headgate in one. Source this file. All of it needs root.
#
#   make_debian SUITE ROOT                    creates the system
#   in_debian ROOT [FOLDER …] -- COMMAND …    runs a command there, which sees each FOLDER under its own path

make_debian() {
  [ "$(id -u)" -eq 0 ] || { echo "only root can make a bare Debian: use sudo" >&2; return 1; }
  command -v debootstrap > /dev/null || scripts/ensure-packages.sh debian
  echo "== a bare Debian ($1) in $2"
  debootstrap --variant=minbase "$1" "$2" ${MIRROR:+"$MIRROR"} > "$2.log" 2>&1 \
    || { tail -n 20 "$2.log" >&2; echo "debootstrap has failed" >&2; return 1; }
  rm -f "$2.log"
  cp /etc/resolv.conf "$2/etc/resolv.conf"
  # A mirror may be weeks behind, which matters to sid alone.
  echo 'Acquire::Check-Valid-Until "false";' > "$2/etc/apt/apt.conf.d/90mirror"
}

# The mounts and the processes of the bare system end with the command.
in_debian() {
  local root=$1 folders=()
  shift
  while [ "$1" != -- ]; do
    folders+=("$1")
    shift
  done
  shift
  ROOT=$root FOLDERS=$(printf '%s\n' "${folders[@]}") unshare --mount --pid --fork --kill-child bash -euc '
    mount -t proc proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
    while read -r folder; do
      [ -n "$folder" ] || continue
      mkdir -p "$ROOT$folder"
      mount --bind "$folder" "$ROOT$folder"
    done <<< "$FOLDERS"
    exec chroot "$ROOT" /usr/bin/env -i PATH="${DEBIAN_PATH:-/usr/sbin:/usr/bin:/sbin:/bin}" HOME=/root \
      LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive ${CI:+CI="$CI"} "$@"
  ' bash "$@"
}

# Installs packages in the bare system. What apt prints is only shown if it fails.
install_in_debian() {
  local root=$1
  shift
  in_debian "$root" -- sh -c '
    { apt-get update -q && apt-get install -q -y --no-install-recommends "$@"; } > /tmp/apt.log 2>&1 \
      || { tail -n 40 /tmp/apt.log >&2; exit 1; }' sh "$@"
}
