#!/usr/bin/env python3
"""Checks that each link of the Markdown pages to a file, or to a heading of a page, has a target."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
pages = [*root.glob("*.md"), *root.glob("docs/**/*.md")]


def without_code(page):
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.S)


def anchors(page):
    """The names that Git servers give to the headings."""
    for heading in re.findall(r"^#+ (.+)", without_code(page), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


count = 0
broken = []
for page in pages:
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
        if re.match(r"\w+:", link):
            continue
        count += 1
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{page.relative_to(root)}: {link} has no target")
if broken:
    sys.exit("\n".join(broken))
if count < 100:
    sys.exit(f"only {count} links were found: the check above sees too little")
print(f"{count} links between the pages have a target")
