#!/usr/bin/env python3
"""Says what a program needs of the system: the oldest glibc with all symbols that it imports, and its libraries.

    requirements.py PROGRAM

What is told of glibc and of the versions of symbols is read from the program with objdump. The version of libcurl is what
the program itself demands when it starts (Sources/HeadgateCurl/CurlVersion.swift).
"""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "Sources/HeadgateCurl/CurlVersion.swift"
MACHINES = {"x86-64": "x86_64", "littleaarch64": "aarch64"}


def objdump(option, program):
    return subprocess.run(
        ["objdump", option, program], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    ).stdout


def number(version):
    return tuple(int(part) for part in version.split("."))


def newest_of_each(versions):
    """Of A_1, A_1.2 and B_3: A_1.2 and B_3."""
    found = {}
    for version in versions:
        name, _, digits = version.rpartition("_")
        if name not in found or number(digits) > number(found[name]):
            found[name] = digits
    return [f"{name}_{digits}" for name, digits in sorted(found.items())]


def oldest_libcurl():
    parts = re.search(r"oldest = 0x(\w\w)_(\w\w)_\w\w", SOURCE.read_text()).groups()
    return ".".join(str(int(part, 16)) for part in parts)


def lines(program):
    headers = objdump("-p", program)
    imported = re.findall(r"\*UND\*\s+\w+\s+\(?(\w+?_[\w.]+)\)?\s+(\S+)", objdump("-T", program))
    machine = re.search(r"file format elf64-(.*)", headers)[1]
    yield f"Linux, {MACHINES.get(machine, machine)}"
    versions = {version.removeprefix("GLIBC_") for version, _ in imported if version.startswith("GLIBC_")}
    newest = max(versions, key=number)
    symbols = sorted(name for version, name in imported if version == f"GLIBC_{newest}")
    more = ", …" if len(symbols) > 4 else ""
    yield f"glibc {newest} or later, for {', '.join(symbols[:4])}{more}"
    for library in re.findall(r"NEEDED\s+(\S+)", headers):
        block = re.search(rf"required from {re.escape(library)}:\n((?:    .*\n)*)", headers)
        needed = [line.split()[-1] for line in block[1].splitlines()] if block else []
        needed = newest_of_each([version for version in needed if not version.startswith("GLIBC_")])
        if library.startswith("libcurl."):
            yield f"{library}: libcurl {oldest_libcurl()} or later, except 8.16.0"
        elif library not in ("libc.so.6", "libm.so.6") and not library.startswith("ld-linux"):
            yield library
        else:
            continue
        if needed:
            # A library whose symbols have no versions at all serves too; the loader then prints a warning.
            yield f"  symbols of version {', '.join(needed)}"


print("\n".join(lines(sys.argv[1])))
