#!/bin/sh
# Installs the missing system packages for a purpose: `ensure-packages.sh build`, `ensure-packages.sh test`,
# `ensure-packages.sh costs` (to count instructions), `ensure-packages.sh apple` (for scripts/check-apple.sh),
# `ensure-packages.sh debian` (to make a bare Debian), `ensure-packages.sh install` (for the manual pages),
# `ensure-packages.sh dist` (to make packages and try them), `ensure-packages.sh redis` (for the tests of the trait Redis),
# or `ensure-packages.sh bench` (those of the tests, and the peers that the benchmarks measure).
#
# Prints the exact command first, and runs it as root or with sudo. With HEADGATE_NO_INSTALL=1 it only prints the command.
# On systems that are not based on Debian, it only names the packages.
set -eu

missing=""
need() { # the package, then a command that succeeds if it is installed
  package=$1
  shift
  "$@" > /dev/null 2>&1 || missing="$missing $package"
}

has_curl_headers() {
  if command -v pkg-config > /dev/null 2>&1; then pkg-config --exists libcurl; else
    printf '#include <curl/curl.h>\nint main(void){return 0;}\n' | cc -x c -fsyntax-only -
  fi
}

has_zlib_headers() { printf '#include <zlib.h>\nint main(void){return 0;}\n' | cc -x c -fsyntax-only -; }

has_swift() { command -v swift; }
if ! has_swift > /dev/null; then
  echo "Swift 6.2 or later is needed and not found: install it from swift.org first." >&2
  exit 1
fi

need libcurl4-openssl-dev has_curl_headers
need zlib1g-dev has_zlib_headers
need pkg-config command -v pkg-config
if [ "${1:-build}" = costs ]; then
  need valgrind command -v valgrind
  need binutils command -v strip
elif [ "${1:-build}" = apple ]; then
  need python3 command -v python3
  need python3-pip python3 -m pip --version
  need binutils command -v nm
elif [ "${1:-build}" = redis ]; then
  need redis-server command -v redis-server
  # For TLS.
  need stunnel4 command -v stunnel
  need openssl command -v openssl
  # Ends tests that hang.
  need procps command -v pkill
elif [ "${1:-build}" = install ]; then
  need python3 command -v python3
elif [ "${1:-build}" = dist ]; then
  need python3 command -v python3
  need binutils command -v objdump
  need dpkg-dev command -v dpkg-shlibdeps
  need man-db command -v man
elif [ "${1:-build}" = debian ]; then
  need debootstrap command -v debootstrap
elif [ "${1:-build}" != build ]; then
  need nginx-light sh -c 'command -v nginx || test -x /usr/sbin/nginx'
  need python3 command -v python3
  need openssl command -v openssl
  need curl command -v curl
  # Reads the command's JSON in examples.
  need jq command -v jq
  # Shows the order of system calls.
  case "$(uname -s)" in Linux) need strace command -v strace ;; esac
  # Ends tests that hang.
  need procps command -v pkill
  # Draws the report's page: some 25 seconds to install.
  need chromium sh -c 'command -v chromium || command -v chromium-browser || command -v google-chrome'
fi
if [ "${1:-build}" = bench ]; then
  crates=/usr/share/cargo/registry
  need golang-go command -v go
  need aria2 command -v aria2c
  need wget2 command -v wget2
  need default-jdk-headless command -v javac
  need libnetty-java test -e /usr/share/java/netty-common.jar
  need cargo command -v cargo
  for crate in crossbeam-channel flume libc rayon threadpool; do
    need "librust-$crate-dev" sh -c "ls -d $crates/$crate-*"
  done
fi
[ -n "$missing" ] || exit 0

case "$(uname -s)" in
  Darwin)
    echo "Missing:$missing. With Homebrew: brew install curl jq nginx python3 openssl pkg-config, and --cask chromium" >&2
    exit 1
    ;;
esac
if ! command -v apt-get > /dev/null 2>&1; then
  echo "Missing (by their Debian names):$missing" >&2
  echo "  Fedora:  dnf install libcurl-devel zlib-devel pkgconf-pkg-config nginx python3 openssl jq strace chromium" >&2
  echo "  Arch:    pacman -S curl zlib pkgconf nginx python openssl jq strace chromium" >&2
  exit 1
fi

sudo=""
if [ "$(id -u)" -ne 0 ]; then sudo="sudo "; fi
command="${sudo}apt-get install -y --no-install-recommends$missing"
echo "Missing system packages. To install them: ${sudo}apt-get update && $command"
if [ "${HEADGATE_NO_INSTALL:-}" = 1 ]; then
  echo "HEADGATE_NO_INSTALL=1: nothing was installed."
  exit 1
fi
if [ -n "$sudo" ] && ! command -v sudo > /dev/null 2>&1; then
  echo "Run that command as root, then this again." >&2
  exit 1
fi
# The list of packages may be empty or old on a fresh machine.
DEBIAN_FRONTEND=noninteractive sh -c "${sudo}apt-get update -q && $command"
