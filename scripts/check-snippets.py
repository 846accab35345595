#!/usr/bin/env python3
"""Checks that each block of Swift code and output in the catalogs, and each block of Swift code in the README and in
docs/, occurs, line for line, in Tests/ or Examples/, which the build of the tests compiles, or as a declaration in
docs/reference, which `make docs` compares with the code.

A program, which has imports and an output, must occur in a `main.swift` of Examples/: in top-level code Swift chooses
other overloads than in a test. `scripts/check-examples.sh` runs these and compares their output."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
catalogs = sorted(root.glob("Sources/*/*.docc/*.md"))
# Whose tests compare them line by line: the lines of a block need not follow each other there.
compared = ("limits.md", "migrating.md")
pages = [page for page in (root / "docs").glob("*.md") if page.name not in compared]
pages = [*catalogs, root / "README.md", *sorted(pages)]
# Modules that only a package trait enables, in builds of their own.
traits = ("AsyncHTTPClient", "Redis")
modules = {path.name for path in (root / "Sources").iterdir()}
modules |= {"AsyncHTTPClient", "Foundation", "FoundationNetworking", "HTTPTypes", "Testing"}
# Whose programs are main programs of Examples/. The other modules have no calls that block.
programs = ("HeadgateThreads", "HeadgateFlow")
products = set(re.findall(r'\.library\(name: "(\w+)"', (root / "Package.swift").read_text()))


def lines_of(text):
    """The lines that are not empty, without indentation. Pages may align the comments at the ends of lines."""
    return [re.sub(r" +// ", "  // ", line.strip()) for line in text.splitlines() if line.strip()]


def sources():
    paths = [path for folder in ("Tests", "Examples") for path in (root / folder).rglob("*")]
    paths = [path for path in paths if path.suffix in (".swift", ".txt") and ".build" not in path.parts]
    for path in [*paths, *(root / "docs/reference").glob("*.md")]:
        # A line break before and after, so that only whole lines match.
        yield path, "\n" + "\n".join(lines_of(path.read_text())) + "\n"


def expected(path):
    """Whether a file is a main program or an expected output of Examples/."""
    return "Examples" in path.parts and (path.name == "main.swift" or path.suffix == ".txt")


def is_program(page, language, block):
    """Whether the block is a program of one of the modules, or its output."""
    text = page.read_text()
    rest = text[text.index(block) + len(block) :]
    if language == "swift":
        return page.stem in programs and block.startswith("import ") and rest.startswith("```\n\n```text\n")
    return page.stem in programs


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
    if not any(shown in source for _, source in compiled):
        yield "no test, no example and no page of docs/reference contains this block:\n" + block
    elif is_program(page, language, block) and not any(shown in source for path, source in compiled if expected(path)):
        yield "no main.swift or expected output in Examples/ contains this block:\n" + block


compiled = list(sources())
count = 0
failed = False
for page in pages:
    for language, block in re.findall(r"```(swift|text)\n(.*?)```", page.read_text(), re.S):
        # Outside the catalogs, output is only an example. That of the README's program is compared by check-examples.sh.
        if page not in catalogs and (language == "text" or any(trait in block for trait in traits)):
            continue
        count += 1
        for fault in faults(page, language, block, compiled):
            failed = True
            print(f"{page.relative_to(root)}: {fault}", file=sys.stderr)
if failed:
    sys.exit(1)
if count < 60:
    sys.exit(f"only {count} blocks of code were found: the check above sees too little")
print(f"{count} blocks in the catalogs and pages are compiled by tests and examples, or stand in docs/reference")
