#!/usr/bin/env python3
"""Writes what the command is made of, as an SPDX 2.3 document in JSON (a software bill of materials).

    sbom.py PROGRAM VERSION > headgate.spdx.json

Swift packages, with the commits of Package.resolved: those that the command's targets use, and what these use in turn.
Swift itself, if its library is linked in. Then the system's libraries that the program loads, with the versions of this
machine, if dpkg knows them: others may be loaded elsewhere. SOURCE_DATE_EPOCH, in seconds, is the date of the document.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SWIFT = os.environ.get("SWIFT", "swift")
# By the beginnings of the libraries' names.
SYSTEM_LICENSES = {
    "libcurl": "curl",
    "libz": "Zlib",
    "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgcc_s": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libc": "LGPL-2.1-or-later",
    "libm": "LGPL-2.1-or-later",
    "ld-linux-x86-64": "LGPL-2.1-or-later",
    "ld-linux-aarch64": "LGPL-2.1-or-later",
}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout


def used_packages():
    """The identities of the packages whose products the command's targets use."""
    manifest = json.loads(run(SWIFT, "package", "dump-package"))
    targets = {target["name"]: target for target in manifest["targets"]}
    used, waiting, seen = set(), ["HeadgateTool"], set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in targets:
            continue
        seen.add(name)
        for dependency in targets[name]["dependencies"]:
            (kind, value), *_ = dependency.items()
            condition = next((part for part in value if isinstance(part, dict)), {})
            if condition.get("traits") or "linux" not in (condition.get("platformNames") or ["linux"]):
                continue
            if kind == "product":
                used.add(value[1])
            else:
                waiting.append(value[0])
    return used


def closure(tree, used):
    """Those packages and all below them, by identity."""
    found = {}
    for package in tree["dependencies"]:
        if package["identity"] in used:
            found[package["identity"]] = package
            found |= closure(package, {below["identity"] for below in package["dependencies"]})
    return found


def license_of(folder):
    for path in sorted(pathlib.Path(folder).glob("LICENSE*")):
        text = path.read_text(errors="replace")
        if "Apache License" in text and "Version 2.0" in text:
            return "Apache-2.0" + (" WITH Swift-exception" if "Runtime Library Exception" in text else "")
    return "NOASSERTION"


def package(name, version, license, **more):
    identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
    return {
        "SPDXID": identifier,
        "name": name,
        **({"versionInfo": version} if version else {}),
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": license,
        "licenseDeclared": license,
        "copyrightText": "NOASSERTION",
        **more,
    }


def swift_packages():
    tree = json.loads(run(SWIFT, "package", "show-dependencies", "--format", "json"))
    pins = {pin["identity"]: pin for pin in json.loads((ROOT / "Package.resolved").read_text())["pins"]}
    for identity, node in sorted(closure(tree, used_packages()).items()):
        pin = pins[identity]
        revision, version = pin["state"]["revision"], pin["state"].get("version")
        yield package(
            identity,
            version,
            license_of(node["path"]),
            downloadLocation=f"git+{pin['location']}@{revision}",
            sourceInfo=f"commit {revision}",
            externalRefs=[
                {
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": f"pkg:swift/{pin['location'].split('//')[-1].removesuffix('.git')}@{version or revision}",
                }
            ],
        )


def swift():
    version = re.search(r"Swift version (\S+)", run(SWIFT, "--version"))[1]
    return package("swift", version, "Apache-2.0 WITH Swift-exception", downloadLocation="https://www.swift.org/install/")


def system_version(path):
    """The version of the Debian package that owns a file, or None."""
    path = os.path.realpath(path)
    # dpkg may know a file of /usr/lib under /lib.
    for known in (path, path.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "--search", known], capture_output=True, text=True)
        if found.returncode == 0:
            owner = found.stdout.split(": ")[0]
            return run("dpkg-query", "--show", "--showformat=${Version}", owner)
    return None


def system_libraries(needed, program):
    loaded = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", program)))
    for library in needed:
        # The loader itself is of the C library's package.
        path = loaded.get(library) or loaded["libc.so.6"]
        version = system_version(path) if shutil.which("dpkg-query") else None
        yield package(library, version, SYSTEM_LICENSES.get(library.split(".so")[0], "NOASSERTION"))


def main(program, version):
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", program))
    static = not any(library.startswith("libswiftCore") for library in needed)
    own = package("headgate", version, "Apache-2.0", copyrightText="The Headgate authors")
    linked = [*swift_packages(), *([swift()] if static else [])]
    loaded = list(system_libraries(needed, program))
    content = pathlib.Path(program).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    file = {
        "SPDXID": "SPDXRef-program",
        "fileName": "./bin/headgate",
        "fileTypes": ["BINARY"],
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": digest},
        ],
        "licenseConcluded": "NOASSERTION",
        "licenseInfoInFiles": ["NOASSERTION"],
        "copyrightText": "NOASSERTION",
    }

    def relation(of, kind, to):
        return {"spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to}

    created = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"headgate-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/headgate-{version}-{digest}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", created),
            "creators": ["Organization: Headgate maintainers", f"Tool: headgate-sbom-{version}"],
        },
        "packages": [own, *linked, *loaded],
        "files": [file],
        "relationships": [
            relation("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"]),
            relation(file["SPDXID"], "GENERATED_FROM", own["SPDXID"]),
            *(relation(file["SPDXID"], "STATIC_LINK", each["SPDXID"]) for each in linked),
            *(relation(file["SPDXID"], "DYNAMIC_LINK", each["SPDXID"]) for each in loaded),
        ],
    }
    print(json.dumps(document, indent=2))


main(*sys.argv[1:])
