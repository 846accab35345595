#!/usr/bin/env bash
# What is documented is true: the examples print what they should, the one of the README among them; every public
# symbol has a comment (the linter's rule); links between symbols lead somewhere (docc, where the toolchain has it); and
# docs/public-interface.txt lists the public interface as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/check-examples.sh

if command -v docc > /dev/null; then
  graphs=$(mktemp -d)
  made=.build/documentation
  rm -rf "$made"
  mkdir -p "$made"
  # From the modules of the debug build. (`swift package dump-symbol-graph` builds with all traits on: NIO and its like.)
  swift build --build-tests
  modules=$(swift build --show-bin-path)
  triple=$(swiftc -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["triple"])')
  maps=(-Xcc -fmodule-map-file=Sources/CCurlSystem/module.modulemap)
  for map in "$modules"/{CCurl,CHeadgate}.build/module.modulemap; do maps+=(-Xcc "-fmodule-map-file=$map"); done
  names=(HeadgateThreads HeadgateFlow HeadgateDispatch HeadgateCurl HeadgateURLSession HeadgateOrigin HeadgateTesting
    HeadgateSharing HeadgateInstruments Headgate)
  for module in "${names[@]}" HeadgateAsyncHTTPClient; do
    mkdir -p "$graphs/$module"
    swift-symbolgraph-extract -module-name "$module" -target "$triple" -I "$modules/Modules" "${maps[@]}" \
      -output-dir "$graphs/$module" -minimum-access-level public
    catalog=Sources/$module/$module.docc
    [ -d "$catalog" ] || catalog=
    docc convert ${catalog:+"$catalog"} --additional-symbol-graph-dir "$graphs/$module" --fallback-display-name "$module" \
      --fallback-bundle-identifier "headgate.$module" --fallback-default-module-kind "" \
      --output-path "$made/$module.doccarchive" --warnings-as-errors
  done
  interface=$(cd "$graphs" && "$OLDPWD/scripts/public-interface.py" "${names[@]}")
  rm -rf "$graphs"
  if ! diff -u docs/public-interface.txt - <<< "$interface"; then
    printf '%s\n' "$interface" > docs/public-interface.txt
    echo "The public interface has changed: docs/public-interface.txt is written anew. Read what differs, and commit it." >&2
    exit 1
  fi
  docc merge "$made"/*.doccarchive --synthesized-landing-page-name Headgate --output-path "$made/all.doccarchive"
  echo "The documentation is in $made, one archive for each module, and all.doccarchive with all of them."
  echo "To read it: python3 -m http.server --directory $made/all.doccarchive 8000"
  echo "and open http://localhost:8000/documentation/ in a browser."
fi
