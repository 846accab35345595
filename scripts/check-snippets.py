#!/usr/bin/env python3
"""Checks that each block of Swift code and output in the catalogs occurs, line for line, in Tests/ or Examples/, which the
build of the tests compiles, or as a declaration in docs/reference, which `make docs` compares with the code. (The tests
named after pages of docs/ check those pages themselves.)"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
catalogs = sorted(root.glob("Sources/*/*.docc/*.md"))
modules = {path.name for path in (root / "Sources").iterdir()} | {"Foundation", "FoundationNetworking", "HTTPTypes"}
products = set(re.findall(r'\.library\(name: "(\w+)"', (root / "Package.swift").read_text()))


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def sources():
    paths = [path for folder in ("Tests", "Examples") for path in (root / folder).rglob("*")]
    paths = [path for path in paths if path.suffix in (".swift", ".txt") and ".build" not in path.parts]
    for path in [*paths, *(root / "docs/reference").glob("*.md")]:
        # A line break before and after, so that only whole lines match.
        yield "\n" + "\n".join(lines_of(path.read_text())) + "\n"


def faults(page, language, block, compiled):
    lines = lines_of(block)
    # A part of a manifest, which no test can compile.
    if lines[0].startswith((".package(", ".testTarget(", ".product(")):
        for name in re.findall(r'\.product\(name: "(\w+)", package: "headgate"', block):
            if name not in products:
                yield f"{name} is no product of this package"
        return
    for line in lines:
        if line.startswith("import ") and line.split()[-1] not in modules:
            yield f"no module is called {line.split()[-1]}"
    if language == "swift":
        lines = [line for line in lines if not line.startswith(("import ", "#if canImport", "#endif"))]
    shown = "\n" + "\n".join(lines) + "\n"
    if not any(shown in source for source in compiled):
        yield "no test, no example and no page of docs/reference contains this block:\n" + block


compiled = list(sources())
count = 0
failed = False
for page in catalogs:
    for language, block in re.findall(r"```(swift|text)\n(.*?)```", page.read_text(), re.S):
        count += 1
        for fault in faults(page, language, block, compiled):
            failed = True
            print(f"{page.relative_to(root)}: {fault}", file=sys.stderr)
if failed:
    sys.exit(1)
if count < 60:
    sys.exit(f"only {count} blocks of code were found: the check above sees too little")
print(f"{count} blocks in the catalogs are compiled by tests and examples, or stand in docs/reference")
