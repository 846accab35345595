#!/usr/bin/env python3
"""Writes docs/reference: reference.py GRAPHS MODULE... Each module gets a page, from its symbol graphs in
GRAPHS/MODULE. If a page was not as it should be, prints the difference, and fails.

So each change of the public interface shows in the diff of its commit. `swift format` wraps the declarations.
"""
import difflib
import itertools
import json
import pathlib
import re
import subprocess
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parent.parent
reference = root / "docs/reference"

type_kinds = ["struct", "class", "enum", "protocol"]
# The order of the members of a type.
member_kinds = ["enum.case", "associatedtype", "typealias", "init", "type.property", "type.method", "type.subscript",
  "property", "method", "subscript", "func", "func.op"]

# Conformances that are not listed: those of every type, and those that follow from another one.
universal = {"Copyable", "Escapable", "SendableMetatype"}
implied = {
  "Comparable": {"Equatable"},
  "Error": {"Sendable"},
  "Hashable": {"Equatable"},
  "HeadgateError": {"CustomStringConvertible", "Error", "Sendable"},
  "InstantProtocol": {"Comparable", "Equatable", "Hashable", "Sendable"},
  "OptionSet": {"Equatable", "ExpressibleByArrayLiteral", "RawRepresentable", "SetAlgebra"},
  "SerialExecutor": {"Executor", "Sendable"},
  "TaskExecutor": {"Executor", "Sendable"},
  "TimerService": {"Clock", "Sendable"},
}


class Symbol:
  def __init__(self, described):
    self.kind = described["kind"]["identifier"].removeprefix("swift.")
    self.path = ".".join(described["pathComponents"])
    self.owner = ".".join(described["pathComponents"][:-1])
    self.declaration = " ".join("".join(part["spelling"] for part in described["declarationFragments"]).split())
    # The compiler leaves out the element of a sequence that is a generic parameter.
    for each in described.get("swiftGenerics", {}).get("constraints", []):
      if each["kind"] == "sameType" and each["rhs"] == "(some Sequence).Element":
        self.declaration = re.sub(r"some Sequence\b(?!<)", f"some Sequence<{each['lhs']}>", self.declaration)
    self.sentence = first_sentence(line["text"].strip() for line in described["docComment"]["lines"])
    if self.sentence.startswith("- "):
      sys.exit(f"the documentation of {self.path} does not begin with a sentence")
    self.constraints = constraints(described.get("swiftGenerics", {}))
    extension = described.get("swiftExtension")
    # The module of the type that an extension declares this for, and the extension's constraints.
    self.extended = extension and extension["extendedModule"]
    self.condition = constraints(extension or {})
    self.is_type = self.kind in type_kinds or (self.kind == "typealias" and not self.owner)
    if not self.is_type:
      self.order = member_kinds.index(self.kind), self.path, self.declaration, self.condition, self.sentence

  def lines(self):
    mark = "  /// " if self.owner else "/// "
    return [*wrapped(self.sentence, mark), self.declaration]


def first_sentence(lines):
  paragraph = " ".join(itertools.takewhile(bool, lines))
  sentence = re.split(r"(?<=[.!?])\s", paragraph, maxsplit=1)[0]
  # Links to symbols, such as ``Rate/spaced(_:per:spread:)`` and ``step(_:_:)-8mj2j``.
  return re.sub(r"``(.+?)(-[\w(),]+)?``", lambda link: "`" + link[1].replace("/", ".") + "`", sentence)


def constraints(described):
  signs = {"conformance": ":", "superclass": ":", "sameType": " =="}
  return [f"{each['lhs']}{signs[each['kind']]} {each['rhs']}" for each in described.get("constraints", [])]


def wrapped(text, mark=""):
  return textwrap.wrap(
    text, 120, initial_indent=mark, subsequent_indent=mark, break_long_words=False, break_on_hyphens=False)


class Module:
  def __init__(self, name, folder):
    self.name = name
    symbols, relations, names = [], [], {}
    for file in sorted(folder.glob("*.symbols.json")):
      graph = json.loads(file.read_text())
      relations += graph["relationships"]
      for described in graph["symbols"]:
        names[described["identifier"]["precise"]] = ".".join(described["pathComponents"])
        # Not what the compiler derives, nor what a protocol of another module provides.
        if "::SYNTHESIZED::" not in described["identifier"]["precise"] and "location" in described:
          symbols.append(Symbol(described))
    for relation in relations:
      if "targetFallback" in relation:
        names[relation["target"]] = relation["targetFallback"].split(".", 1)[1]

    self.types = {symbol.path: symbol for symbol in symbols if symbol.is_type}
    # By the type that they belong to, which may be one of another module. Functions belong to "".
    self.members = {path: [] for path in self.types}
    for symbol in sorted((symbol for symbol in symbols if not symbol.is_type), key=lambda symbol: symbol.order):
      self.members.setdefault(symbol.owner, []).append(symbol)
    self.conformances = {path: set() for path in self.members}
    for relation in relations:
      path = names.get(relation["source"])
      if relation["kind"] == "conformsTo" and "swiftConstraints" not in relation and path in self.members:
        # Not the conformances that a type of another module has without this one.
        if path in self.types or "targetFallback" not in relation:
          self.conformances[path].add(names[relation["target"]])

  def source(self, path):
    """The declaration of a type with its members, or the module's functions."""
    if not path:
      return "\n\n".join("\n".join(function.lines()) for function in self.members[path])
    declared = self.types.get(path)
    if declared and declared.kind == "typealias":
      return declared.declaration
    first = self.heading(path)
    blocks = {first: []}
    for member in self.members[path]:
      condition = ", ".join(each for each in member.condition if not declared or each not in declared.constraints)
      heading = first
      if condition:
        heading = f"extension {path} where {condition}"
      elif declared and declared.kind == "protocol" and member.extended:
        heading = f"extension {path}"
      blocks.setdefault(heading, []).append(member)
    if not declared and not blocks[first]:
      del blocks[first]
    return "\n\n".join(block(heading, members) for heading, members in blocks.items())

  def heading(self, path):
    declared = self.types.get(path)
    heading, where, condition = (declared.declaration if declared else f"extension {path}").partition(" where ")
    listed = self.conformances[path] - universal
    listed -= set().union(*(implied.get(each, set()) for each in listed))
    # The declaration of a protocol has those to which it conforms.
    if listed and not (declared and declared.kind == "protocol"):
      heading += ": " + ", ".join(sorted(listed))
    return heading + where + condition

  def page(self):
    paths = sorted(self.members, key=lambda path: (path != "", path.lower()))
    titles = [path or "Functions" for path in paths]
    # One a line, so that a new type changes one line.
    links = ",\n".join(f"[{title}](#{title.lower()})" for title in titles if "." not in title)
    parts = [f"# {self.name}", abstract(self.name), links]
    for path, title, source in zip(paths, titles, formatted([self.source(path) for path in paths])):
      parts.append(f"## {title}")
      if path in self.types:
        parts.append("\n".join(wrapped(self.types[path].sentence)))
      elif path:
        parts.append(f"What this module adds to a type of {origin(self.members[path][0].extended)}.")
      parts.append(f"```swift\n{source}\n```")
    return "\n\n".join(parts) + "\n"


def block(heading, members):
  if not members:
    return heading + " {}"
  lines = [heading + " {"]
  for before, member in zip([None, *members], members):
    # Cases and properties are short: those of one kind stand together.
    if before and not (before.kind == member.kind and member.kind.endswith(("case", "property"))):
      lines.append("")
    lines += member.lines()
  return "\n".join([*lines, "}"])


def formatted(sources):
  """Formats all sources at once: the formatter takes longer to start than to format."""
  mark = "// the next one"
  text = subprocess.run(
    ["swift", "format", "--configuration", root / ".swift-format", "-"],
    input=f"\n\n{mark}\n\n".join(sources), stdout=subprocess.PIPE, text=True, check=True).stdout
  return [source.strip() for source in text.split(mark)]


def origin(module):
  if (root / "Sources" / module).exists():
    return f"[{module}]({module}.md)"
  return "Foundation" if module.startswith("Foundation") else "the standard library"


def abstract(module):
  """The paragraph below the title of a module's front page."""
  return (root / f"Sources/{module}/{module}.docc/{module}.md").read_text().split("\n\n")[1]


def index():
  modules = sorted(page.stem for page in reference.glob("Headgate*.md"))
  rows = [f"| [{module}]({module}.md) | {' '.join(abstract(module).split())} |" for module in modules]
  return "\n".join([
    "# Reference", "",
    *wrapped(
      "The public interface: a page for each module, with each declaration and the first sentence of its "
      "documentation. The word `public` is left out. `make docs` compares these pages with the code, and makes the "
      "whole documentation. "
      "[API stability](../public-api.md) says what you may rely on."), "",
    "| module | what it is for |", "|---|---|", *rows]) + "\n"


def update(page, text):
  """Returns whether the page was as it should be."""
  old = page.read_text() if page.exists() else ""
  lines = [each.splitlines(keepends=True) for each in (old, text)]
  sys.stdout.writelines(difflib.unified_diff(*lines, f"{page.name} as it was", f"{page.name} from the code"))
  page.write_text(text)
  return old == text


graphs, *names = sys.argv[1:]
reference.mkdir(exist_ok=True)
results = [update(reference / f"{name}.md", Module(name, pathlib.Path(graphs) / name).page()) for name in names]
if not all([*results, update(reference / "README.md", index())]):
  sys.exit("The public interface or its documentation has changed: docs/reference is written anew. Read what differs, "
    "and commit it.")
