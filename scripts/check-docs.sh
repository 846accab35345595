#!/usr/bin/env bash
# Checks the documentation: the examples, including the one of the README, print what they should; every public symbol
# has a comment (the linter's rule); all links between symbols have a target (docc, if the toolchain has it); and
# docs/reference has the present public interface.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/check-examples.sh

if command -v docc > /dev/null; then
  graphs=$(mktemp -d)
  trap 'rm -rf "$graphs"' EXIT
  made=.build/documentation
  rm -rf "$made"
  mkdir -p "$made"
  # From the modules of the debug build. (`swift package dump-symbol-graph` enables all traits, and so would build NIO.)
  swift build --build-tests ${TEST_BUILD:-}
  modules=$(swift build --show-bin-path)
  names=(HeadgateThreads HeadgateFlow HeadgateGate HeadgateDispatch HeadgateCurl HeadgateURLSession HeadgateOrigin
    HeadgateTesting HeadgateSharing HeadgateInstruments Headgate)
  for module in "${names[@]}" HeadgateAsyncHTTPClient; do
    scripts/convert-docs.sh "$module" "$modules" "$graphs" "$made"
  done
  scripts/reference.py "$graphs" "${names[@]}"
  docc merge "$made"/*.doccarchive --synthesized-landing-page-name Headgate --output-path "$made/all.doccarchive"
  echo "The documentation is in $made, one archive for each module, and all.doccarchive with all of them."
  echo "To read it: python3 -m http.server --directory $made/all.doccarchive 8000"
  echo "and open http://localhost:8000/documentation/ in a browser."
fi
