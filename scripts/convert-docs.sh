#!/usr/bin/env bash
# Generates the documentation of one module from its symbol graph: convert-docs.sh MODULE BUILD GRAPHS ARCHIVES. BUILD is
# the folder of a debug build. A warning of docc is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
module=$1 build=$2 graphs=$3 archives=$4

triple=$(swiftc -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["triple"])')
maps=(-Xcc -fmodule-map-file=Sources/CCurlSystem/module.modulemap)
for map in "$build"/{CCurl,CHeadgate}.build/module.modulemap; do
  if [ -e "$map" ]; then maps+=(-Xcc "-fmodule-map-file=$map"); fi
done
mkdir -p "$graphs/$module"
swift-symbolgraph-extract -module-name "$module" -target "$triple" -I "$build/Modules" "${maps[@]}" \
  -output-dir "$graphs/$module" -minimum-access-level public
catalog=Sources/$module/$module.docc
[ -d "$catalog" ] || catalog=
docc convert ${catalog:+"$catalog"} --additional-symbol-graph-dir "$graphs/$module" --fallback-display-name "$module" \
  --fallback-bundle-identifier "headgate.$module" --fallback-default-module-kind "" \
  --output-path "$archives/$module.doccarchive" --warnings-as-errors
