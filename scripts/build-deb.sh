#!/bin/sh
# Builds a Debian package of the command: `build-deb.sh PROGRAM VERSION FOLDER` writes FOLDER/headgate_VERSION_ARCH.deb. The
# dependencies are those that dpkg-shlibdeps finds in the program, and the version of libcurl that the program demands.
#
# SOURCE_DATE_EPOCH is the date of all files. With TRIAL=1, libraries may be loaded that no Debian package has.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
program=$1
version=$2
to=$(cd "$3" && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/root
documents=$root/usr/share/doc/headgate
umask 022
DESTDIR=$root ZSH_COMPLETIONS=share/zsh/vendor-completions scripts/install.sh /usr "$program" > /dev/null
install -d "$documents" "$root/DEBIAN"
install -m 644 README.md SECURITY.md packaging/debian/copyright "$documents"
install -m 644 CHANGELOG.md "$documents/changelog"
gzip -9n "$documents/changelog" "$root"/usr/share/man/man1/*.1

# What these tools of Debian read: control, and a changelog that names the version.
mkdir "$folder/debian"
cp packaging/debian/control "$folder/debian"
cat > "$folder/debian/changelog" << END
headgate ($version) unstable; urgency=medium

  * See changelog.gz in /usr/share/doc/headgate.

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
libcurl=$(scripts/requirements.py "$program" | sed -n 's/^libcurl.*: libcurl \([0-9.]*\) or later.*/\1/p')
(
  cd "$folder"
  # Debian 13 provides libcurl4 in another package, with this version.
  dpkg-shlibdeps -Tsubstvars ${TRIAL:+--ignore-missing-info} "$root/usr/bin/headgate" 2> log || { cat log >&2; exit 1; }
  echo "libcurl:Depends=libcurl4 (>= $libcurl)" >> substvars
  dpkg-gencontrol -pheadgate -Tsubstvars -P"$root" -ffiles
)
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
find "$root" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group ${TRIAL:+-Zgzip -z1} --build "$root" "$to" > /dev/null
