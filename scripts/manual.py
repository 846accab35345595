#!/usr/bin/env python3
"""Writes the manual pages of the command, one for each subcommand that its help names.

    manual.py PROGRAM FOLDER

The pages are in mdoc, and made of what `PROGRAM --experimental-dump-help` prints. The examples, the exit statuses and the
options have sections of their own. SOURCE_DATE_EPOCH, in seconds, is the date of the pages; without it, today is.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import time


def text(line):
    """A line of text. Hyphens of options stay hyphens that a terminal can copy, and no line is a request of troff."""
    line = re.sub(r"(?<!\w)-(?=[\w-])", r"\\-", line.replace("\\", "\\e"))
    return "\\&" + line if line[:1] in (".", "'") else line


def verbatim(line):
    return text(line.replace("-", "\0")).replace("\0", "\\-")


def word(argument):
    """One argument of a macro. Quoted if it has spaces; never the name of another macro, or punctuation."""
    argument = argument.replace("\\", "\\e").replace('"', "\\(dq")
    if re.fullmatch(r"[A-Z%]\w{1,2}|\W+", argument):
        argument = "\\&" + argument
    return f'"{argument}"' if " " in argument else argument


def sections(discussion):
    """The paragraphs, the examples and the exit statuses of a help text."""
    found = {None: [], "EXAMPLES": [], "EXIT STATUS": []}
    part = None
    for line in (discussion or "").strip().split("\n"):
        if line in found:
            part = line
        else:
            found[part].append(line)
    return ["\n".join(lines).strip("\n").split("\n") if any(lines) else [] for lines in found.values()]


def paragraphs(lines):
    return [text(line) if line.strip() else ".Pp" for line in lines]


def flag(name):
    return ("" if name["kind"] == "short" else "-") + name["name"]


def usage(argument):
    """An argument in the synopsis. Optional options are summed up elsewhere."""
    value = f"Ar {word(argument['valueName'])}" + (" ..." if argument["isRepeating"] else "")
    if argument["kind"] != "positional":
        value = f"Fl {word(flag(argument['preferredName']))}" + (f" {value}" if argument["kind"] == "option" else "")
    return (".Op " if argument["isOptional"] else ".") + value


def items(arguments):
    yield ".Bl -tag -width 6n"
    for argument in arguments:
        # Short names first.
        names = sorted(argument.get("names", []), key=lambda name: name["kind"] != "short")
        flags = "Fl " + " , ".join(word(flag(name)) for name in names) if names else ""
        value = "" if argument["kind"] == "flag" else "Ar " + word(argument["valueName"])
        yield " ".join([".It", *filter(None, [flags, value])])
        yield from paragraphs(argument.get("abstract", "").split("\n"))
        default = argument.get("defaultValue")
        if default and "(default:" not in argument.get("abstract", ""):
            yield text(f"(default: {default})")
    yield ".El"


def options(arguments):
    """The options under the headings that the help has, those without one first."""
    groups = {None: []}
    for argument in arguments:
        groups.setdefault(argument.get("sectionTitle"), []).append(argument)
    for title, group in groups.items():
        if title:
            yield f".Ss {title}"
        if group:
            yield from items(group)


def statuses(lines):
    if not lines:
        return [".Ex -std headgate"]
    made = [".Bl -tag -width 4n -compact"]
    for line in lines:
        found = re.fullmatch(r" *(\d+) +(.*)", line)
        made += [f".It {found[1]}", text(found[2])] if found else [text(line.strip())]
    return [*made, ".El"]


def shown(entries):
    return [entry for entry in entries if entry["shouldDisplay"] and entry.get("commandName") != "help"]


def page(command, name, others):
    described, examples, ends = sections(command.get("discussion"))
    arguments = shown(command.get("arguments", []))
    subcommands = shown(command.get("subcommands", []))
    date = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    yield f".Dd {time.strftime('%B', date)} {date.tm_mday}, {date.tm_year}"
    yield f".Dt {'-'.join(name).upper()} 1"
    yield ".Os Headgate"
    yield from [".Sh NAME", f".Nm {word('-'.join(name))}", f".Nd {text(command['abstract'].rstrip('.'))}"]
    yield from [".Sh SYNOPSIS", f".Nm {word(' '.join(name))}"]
    if subcommands:
        yield ".Ar subcommand"
    if any(argument["kind"] != "positional" and argument["isOptional"] for argument in arguments):
        yield ".Op Ar option ..."
    yield from (usage(each) for each in arguments if each["kind"] == "positional" or not each["isOptional"])
    yield from [".Sh DESCRIPTION", *paragraphs(described or [command["abstract"]])]
    if subcommands:
        yield from [".Sh SUBCOMMANDS", ".Bl -tag -width 6n"]
        for each in subcommands:
            yield from [f".It Cm {word(each['commandName'])}", text(each["abstract"])]
        yield ".El"
    if arguments:
        yield from [".Sh OPTIONS", *options(arguments)]
    yield from ['.Sh "EXIT STATUS"', *statuses(ends)]
    if examples:
        yield from [".Sh EXAMPLES", ".Bd -literal", *(verbatim(re.sub("^  ", "", line)) for line in examples), ".Ed"]
    if others:
        yield '.Sh "SEE ALSO"'
        yield from (f".Xr {other} 1" + ("" if other == others[-1] else " ,") for other in others)


def commands(command, above=()):
    name = (*above, command["commandName"])
    yield name, command
    for each in shown(command.get("subcommands", [])):
        yield from commands(each, name)


program, folder = sys.argv[1:]
dumped = subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True, text=True).stdout
pages = dict(commands(json.loads(dumped)["command"]))
names = sorted("-".join(name) for name in pages)
for name, command in pages.items():
    title = "-".join(name)
    made = page(command, name, [other for other in names if other != title])
    (pathlib.Path(folder) / f"{title}.1").write_text("\n".join(made) + "\n")
