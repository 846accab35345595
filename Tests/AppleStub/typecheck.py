#!/usr/bin/env python3
"""Type-checks every module of this package for macOS: `typecheck.py FOLDER`.

FOLDER/sdk has Apple's C headers, and FOLDER gets what this builds. The other modules:
- The standard library: this toolchain's interfaces for Linux, with the few changes below.
- Foundation, Dispatch and the Swift half of Darwin: the interfaces in the folder `modules`.
- This package's dependencies: their sources.
The arguments of the compiler are those of the last debug build.
"""
import json
import pathlib
import platform
import re
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
folder = pathlib.Path(sys.argv[1]).resolve()
machine = {"x86_64": "x86_64", "aarch64": "arm64"}[platform.machine()]
target = machine + "-apple-macosx15.0"
info = json.loads(subprocess.run(["swiftc", "-print-target-info"], check=True, capture_output=True).stdout)
toolchain = pathlib.Path(info["paths"]["runtimeResourcePath"])
resources, modules = folder / "resources", folder / "modules"


def standard_library():
  """Makes macOS's half of a compiler's resources."""
  (resources / "macosx").mkdir(parents=True)
  for name in ["shims", "clang", "apinotes"]:
    (resources / name).symlink_to(toolchain / name)
  for name in ["Swift", "_Concurrency", "_StringProcessing", "_Builtin_float", "Synchronization"]:
    source, = (toolchain / "linux" / (name + ".swiftmodule")).glob(platform.machine() + "-*-gnu.swiftinterface")
    flags = "-disable-availability-checking -target " + target
    text = re.sub(r"(// swift-module-flags:.*)-target \S+", r"\1" + flags, source.read_text())
    text = text.replace(" -target-min-inlining-version min", "").replace("\nimport Glibc\n", "\nimport Darwin\n")
    # An interface for Linux has no bodies for these, and a call of Linux's own in `Mutex`.
    text = re.sub(r"\n *@backDeployed\(.*\)(?=\n)", "", text).replace("_swift_stdlib_gettid()", "Swift.UInt32(0)")
    if name == "Swift":
      # Without Objective-C this type does not exist. With it, the compiler converts no pointers unless it does.
      text += "@frozen public struct AutoreleasingUnsafeMutablePointer<Pointee> { let value: Builtin.RawPointer }\n"
    place = resources / "macosx" / (name + ".swiftmodule") / (machine + "-apple-macos.swiftinterface")
    place.parent.mkdir()
    place.write_text(text)
  # Nothing is used of these, but the compiler or `canImport` looks for them.
  for name in ["SwiftOnoneSupport", "ObjectiveC", "os"]:
    imported = "@_exported import Darwin" if name == "os" else "import Swift"
    (modules / (name + ".swiftinterface")).write_text(
      f"// swift-interface-format-version: 1.0\n// swift-module-flags: -module-name {name} -O\n{imported}\n")


def builds():
  """The compiler's arguments and inputs for each module, from the description of the debug build."""
  found = {}
  for line in (root / ".build" / "debug.yaml").read_text().splitlines():
    key, _, value = line.strip().partition(": ")
    if key == "inputs":
      inputs = json.loads(value)
    elif key == "args" and '"-emit-module-path"' in value:
      arguments = json.loads(value)
      found[arguments[arguments.index("-module-name") + 1]] = (arguments, inputs)
  return found


def wanted(arguments):
  """The arguments that decide what the source means."""
  rest = iter(arguments)
  for argument in rest:
    if argument.startswith("-D") or argument == "-parse-as-library":
      yield argument
    elif argument in ["-swift-version", "-package-name", "-enable-upcoming-feature", "-enable-experimental-feature"]:
      yield from [argument, next(rest)]
    elif argument == "-Xcc" and (value := next(rest)).startswith("-fmodule-map-file="):
      yield from [argument, value]


def check(name, all_builds, done):
  if name in done:
    return
  done.add(name)
  if name not in all_builds:
    sys.exit(f"the description of the debug build lacks the module {name}")
  arguments, inputs = all_builds[name]
  for path in map(pathlib.Path, inputs):
    if path.suffix == ".swiftmodule":
      check(path.stem, all_builds, done)
  sources = [path for path in inputs if path.endswith(".swift")]
  is_own = (root / "Sources" / name).is_dir()
  command = ["swiftc", "-frontend", "-emit-module", "-o", modules / (name + ".swiftmodule"), "-module-name", name]
  command += ["-target", target, "-sdk", folder / "sdk", "-resource-dir", resources]
  command += ["-module-cache-path", folder / "cache", "-plugin-path", toolchain / "host" / "plugins"]
  command += ["-I", modules, "-I", here / "modules"]
  # With the trait Redis, which adds no dependencies.
  command += ["-warnings-as-errors", "-DRedis"] if is_own else ["-suppress-warnings"]
  command += [*wanted(arguments), *sources]
  if subprocess.run(command, cwd=root).returncode != 0:
    sys.exit(f"the module {name} is not valid Swift for macOS")


modules.mkdir()
standard_library()
described, checked = builds(), set()
own_modules = sorted(path.name for path in (root / "Sources").glob("Headgate*"))
# The first two are not among the others' dependencies in a debug build: the umbrella's transport on Apple's systems,
# and what the trait Redis adds to the command.
for own in ["HeadgateURLSession", "HeadgateRedis", *own_modules]:
  check(own, described, checked)
print(f"valid Swift for macOS: {len(checked)} modules")
