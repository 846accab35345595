#!/bin/sh
# Writes the hashes of the report's style and script into the page's Content-Security-Policy.
set -eu
cd "$(dirname "$0")/../Sources/HeadgateReport/Page"
hash() { openssl dgst -sha256 -binary | base64; }
style=$(hash < Script/page.css)
# Concatenated as in RunPage.script.
script=$({
  printf "'use strict';{\n"
  for part in elements charts lists waterfall page; do cat "Script/$part.js"; done
  printf '}\n'
} | hash)
sed -i.old -e "s|styleHash = \".*\"|styleHash = \"$style\"|" -e "s|scriptHash = \".*\"|scriptHash = \"$script\"|" RunPage.swift
rm -f RunPage.swift.old
