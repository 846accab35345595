#!/usr/bin/env python3
"""Queues, pools, timers and threads, compared with their peers: the programs take turns, for each row of each round.

A program prints one line of name=value pairs about one measurement, after its own warm-up. Nothing is built here: see
run and Peers/Makefile. A row is printed with the median of its rounds; a ratio is taken within each round, then its
median.

  Scripts/threads.py
  Scripts/threads.py --only queues --rounds 5 --seconds 0.5
  Scripts/threads.py --only queues --rows 'bounded 1024' --peers headgate,crossbeam
"""
import argparse
import contextlib
import shlex
import shutil
import subprocess
import sys

from common import Others, median, print_machine, print_table, write_raw
from threads_rows import GATES, PARTS, PEERS, AtMost, rows

TIMEOUT = 120
PROGRAMS = ("swift", "cc", "go", "java", "rustc")


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--rounds", type=int, default=3)
  parser.add_argument("--seconds", type=float, default=0.2, help="how long a measured run should take")
  parser.add_argument("--only", choices=list(PARTS), action="append", help="this part (may be given again)")
  parser.add_argument("--rows", default="", metavar="TEXT", help="only the rows whose name contains TEXT")
  parser.add_argument("--peers", default="", metavar="A,B", help="only these programs")
  parser.add_argument("--full", action="store_true", help="every element with every queue: three times as many rows")
  parser.add_argument("--no-one-processor", action="store_true", help="leave out the rows on one processor")
  parser.add_argument("--no-busy", action="store_true", help="leave out the rows beside a busy process")
  options = parser.parse_args()
  peers = options.peers.split(",") if options.peers else list(PEERS)
  for name in peers:
    if name not in PEERS:
      parser.error("no peer %s: there are %s" % (name, ", ".join(PEERS)))
  chosen = [
    row for row in rows(options.seconds, options.full)
    if (not options.only or row.part in options.only) and options.rows in row.name
    and not (options.no_one_processor and row.condition == "one processor")
    and not (options.no_busy and row.condition == "beside a busy process")
  ]
  if not shutil.which("taskset"):
    chosen = [row for row in chosen if row.condition != "one processor"]
    print("taskset is missing: no rows on one processor")
  if not chosen:
    parser.error("no row is left")
  return options, peers, chosen


def measure(row, peer, notes):
  """Runs one program once: its figures, or None and a note."""
  program, arguments = PEERS[peer], row.programs[peer]
  command = program.command(row.part) + arguments
  absent = program.missing(row.part)
  if absent:
    notes.add("%s: not there (%s): its rows are empty" % (peer, absent))
    return None
  if row.condition == "one processor":
    command = ["taskset", "-c", "0"] + command
  try:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
  except (OSError, subprocess.TimeoutExpired) as error:
    notes.add("failed: %s: %s: %r" % (row.name, shlex.join(command), error))
    return None
  try:
    figures = dict(pair.split("=", 1) for pair in done.stdout.strip().splitlines()[-1].split())
    figures = {name: float(value) for name, value in figures.items() if name != "peer"}
  except (ValueError, IndexError):
    figures = {}
  if done.returncode != 0 or not figures.get("operations"):
    notes.add("failed: %s: %s: exit code %d: %s" % (
      row.name, shlex.join(command), done.returncode, (done.stderr.strip().splitlines() or ["no output"])[-1]))
    return None
  figures["cpu_each"] = figures["cpu"] / figures["operations"] * 1e6
  figures["switches_each"] = figures["switches"] / figures["operations"] * 1e3
  return figures


@contextlib.contextmanager
def busy_process(wanted):
  """A process that keeps one processor busy, if requested."""
  if not wanted:
    yield
    return
  process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
  try:
    yield
  finally:
    process.kill()
    process.wait()


def run(options, peers, chosen):
  """Each round's figures by row and peer, and the notes about them."""
  rounds, notes = [], set()
  for number in range(options.rounds):
    rounds.append({})
    for row in chosen:
      for peer in row.programs:
        if peer not in peers:
          continue
        with busy_process(row.condition == "beside a busy process"):
          figures = measure(row, peer, notes)
        rounds[-1][row.key, peer] = figures
        if figures:
          figure = row.figures[0]
          print("round %d  %-52s %-14s %9.3f %s" % (
            number + 1, row.key, peer, figures[figure.name], figure.unit), file=sys.stderr)
  return rounds, sorted(notes)


def seen(rounds, key, peer, figure):
  """The median of a figure over the rounds, or None."""
  values = [r[key, peer][figure] for r in rounds if r.get((key, peer)) and figure in r[key, peer]]
  return median(values) if values else None


def text(value):
  if value is None:
    return "-"
  return "%.0f" % value if abs(value) >= 1000 else "%.1f" % value if abs(value) >= 100 else "%.3g" % value


def print_part(part, chosen, peers, rounds):
  """One table for each figure of a part's rows: a column for each program."""
  mine = [row for row in chosen if row.part == part]
  figures = []
  for row in mine:
    figures += [figure for figure in row.figures if figure not in figures]
  for figure in figures:
    have = [row for row in mine if figure in row.figures]
    columns = [peer for peer in peers if any(peer in row.programs for row in have)]
    print("\n%s: %s%s\n" % (part, figure.title, ", " + figure.unit if figure.unit else ""))
    print_table([PARTS[part]] + columns,
                [[row.key] + [text(seen(rounds, row.key, peer, figure.name)) for peer in columns] for row in have])


def verdict(gate, rounds):
  """A line of the table of gates, or None if nothing was measured for it."""
  ratios, bases = [], gate.bases
  for r in rounds:
    mine = r.get((gate.key, gate.peer))
    others = [r[gate.key, base][gate.figure] for base in bases if r.get((gate.key, base))]
    if not mine or (bases and not others):
      continue
    best = (min if isinstance(gate.limit, AtMost) else max)(others) if bases else 1
    ratios.append(mine[gate.figure] / best)
  if not ratios:
    return None
  ratio = median(ratios)
  name = ("" if gate.peer == "headgate" else gate.peer + ": ") + gate.key
  name += "" if gate.figure == "rate" else ", " + gate.figure
  met = "aim" if gate.limit.aim and not gate.limit.met(ratio) else "yes" if gate.limit.met(ratio) else "NO"
  return [name, ", ".join(bases) or "-", str(gate.limit), "%.2f" % ratio, "%.2f-%.2f" % (min(ratios), max(ratios)), met]


def main():
  options, peers, chosen = parse()
  print("threads: %d rounds, interleaved, runs of %g s after a warm-up\n" % (options.rounds, options.seconds))
  print_machine(PROGRAMS)
  others = Others()
  rounds, notes = run(options, peers, chosen)
  others.print()
  for part in PARTS:
    if any(row.part == part for row in chosen):
      print_part(part, chosen, peers, rounds)
  lines = [line for line in (verdict(gate, rounds) for gate in GATES) if line]
  if lines:
    print("\nHeadgate's figure divided by the other's (the better of several):\n")
    print_table(["what", "against", "wanted", "seen", "range", "met"], lines)
  print()
  for note in notes:
    print(note)
  write_raw("threads", PROGRAMS, options, [
    [{"row": key, "peer": peer, **(figures or {})} for (key, peer), figures in r.items()] for r in rounds])
  if any(note.startswith("failed") for note in notes):
    sys.exit(1)


if __name__ == "__main__":
  main()
