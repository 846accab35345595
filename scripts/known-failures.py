#!/usr/bin/env python3
"""Compares the failed tests of a run with those that are known to fail with the libcurl of this machine.

    known-failures.py RESULTS

RESULTS is what `swift test --xunit-output` writes. Tests/known-failures.txt lists the tests. Ends with 0 if the listed
tests that were run have failed, and no others; with 1 if not, or if there are no results.
"""

import ctypes
import pathlib
import re
import sys
import xml.etree.ElementTree as XML

LIST = pathlib.Path(__file__).parent.parent / "Tests" / "known-failures.txt"


def number(text):
    return tuple(int(part) for part in text.split("."))


def libcurl():
    """The version of the library that the tests load."""
    name = "libcurl.4.dylib" if sys.platform == "darwin" else "libcurl.so.4"
    library = ctypes.CDLL(name)
    library.curl_version.restype = ctypes.c_char_p
    return re.search(rb"libcurl/([0-9.]+)", library.curl_version()).group(1).decode()


def listed():
    """The tests that fail with that version, and the version."""
    lines = [line.split() for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    version = libcurl() if lines else "none"
    return version, {
        test
        for first, last, test in lines
        if number(first) <= number(version) and (last == "-" or number(version) <= number(last))
    }


try:
    results = XML.parse(sys.argv[1])
except (OSError, XML.ParseError) as error:
    sys.exit(f"the run has left no results: {error}")
cases = list(results.iter("testcase"))
ran = {f"{case.get('classname')}/{case.get('name')}" for case in cases}
failed = {f"{case.get('classname')}/{case.get('name')}" for case in cases if case.find("failure") is not None}
# An issue may belong to no test.
if sum(int(suite.get("failures")) for suite in results.iter("testsuite")) != len(list(results.iter("failure"))):
    sys.exit("some failures belong to no test")

version, known = listed()
if known & failed:
    print(f"=== known to fail with libcurl {version} (Tests/known-failures.txt):", *sorted(known & failed), sep="\n  ")
for test in sorted(known & ran - failed):
    print(f"=== {test} passes with libcurl {version}: remove it from Tests/known-failures.txt, or correct its range")
sys.exit(0 if failed == known & ran else 1)
