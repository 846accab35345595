#!/usr/bin/env python3
"""Lists the public interface of all modules, from the symbol graphs in the given folders, one declaration per line.

docs/public-interface.txt is this list, so that each change of the interface shows in the diff of its commit.
"""
import json
import pathlib
import sys


def declarations(folder):
  """The declarations of one module, by the type that they belong to."""
  found = set()
  for file in sorted(folder.glob("*.symbols.json")):
    for symbol in json.loads(file.read_text())["symbols"]:
      # Skips what the compiler derives, and what a protocol of another module provides.
      if "::SYNTHESIZED::" in symbol["identifier"]["precise"] or "location" not in symbol:
        continue
      text = "".join(part["spelling"] for part in symbol.get("declarationFragments", []))
      *owner, name = symbol["pathComponents"]
      found.add((".".join(owner), name, " ".join(text.split())))
  return sorted(found)


for argument in sys.argv[1:]:
  folder = pathlib.Path(argument)
  print("# " + folder.name)
  last = None
  for owner, _, text in declarations(folder):
    if owner and owner != last:
      print("\n" + owner)
    last = owner
    print(("  " if owner else "") + text)
  print()
