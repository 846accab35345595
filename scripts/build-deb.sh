#!/bin/sh
# Builds a Debian package of the command, which must have been built in release mode: .build/deb/headgate_VERSION_ARCH.deb.
# debhelper needs a folder called `debian`, so packaging/debian is copied, with a changelog that names the version
# and the date of the last commit.
set -eu
cd "$(dirname "$0")/.."
export HEADGATE_SOURCE="$PWD"

version=$(sed -n 's/.*current = "\(.*\)".*/\1/p' Sources/HeadgateCommand/Command/HeadgateVersion.swift)
[ -n "$version" ] || { echo "HeadgateVersion.swift names no version" >&2; exit 1; }
maintainer=$(sed -n 's/^Maintainer: //p' packaging/debian/control)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2> /dev/null || date +%s)
export SOURCE_DATE_EPOCH

rm -rf .build/deb
mkdir -p .build/deb/headgate
cp -R packaging/debian .build/deb/headgate/debian
cat > .build/deb/headgate/debian/changelog << END
headgate ($version) unstable; urgency=medium

  * See /usr/share/doc/headgate/changelog.gz.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END
(cd .build/deb/headgate && dpkg-buildpackage -b -us -uc > ../build.log 2>&1) || { cat .build/deb/build.log >&2; exit 1; }
rm -rf .build/deb/headgate
ls .build/deb/headgate_*.deb
