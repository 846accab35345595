#!/usr/bin/env python3
"""One request after another over one connection: headgate (from a thread that blocks, from a task, and from a task on the
dispatcher's executor) beside Go and C on libcurl, whose single thread does everything. A dispatcher has a separate thread
for sockets, so a request is handed to that thread, and its response back. The cost of two such hand-offs is measured in
the same round, with only a futex (c-handoff). All programs run in turn, round after round.

  Scripts/single.py
  Scripts/single.py --rounds 3 --requests 5000
"""
import argparse
import os
import subprocess
import sys

from bulk import KNOWN, PEERS, PROGRAMS as TOOLS, rate, run
from common import median, print_machine, print_table, write_raw
from nginx import Server

PROGRAMS = ("headgate", "c", "go")
HEADGATE = ("headgate", "headgate-async", "headgate-executor")
CLIENTS = {**{name: KNOWN[name] + ["--one"] for name in HEADGATE}, "c": KNOWN["c"], "go": KNOWN["go"]}
HANDOFF = os.path.join(PEERS, ".build/c-handoff")


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--rounds", type=int, default=7)
  parser.add_argument("--requests", type=int, default=20000)
  for name in PROGRAMS:
    parser.add_argument("--" + name, default=CLIENTS[name][0], help="the program, where it is not where it is built")
  parser.add_argument("--handoff", default=HANDOFF)
  options = parser.parse_args()
  options.connections = 1
  return options


def two_handoffs(program):
  """The microseconds for a hand-off to another thread and back."""
  line = subprocess.run([program, "pingpong", "1"], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout
  return 1 / float(dict(pair.split("=", 1) for pair in line.split())["rate"])


def main():
  options = parse()
  print("one after another: %d requests of 100 bytes a run, 1 connection, %d rounds, interleaved\n"
        % (options.requests, options.rounds))
  print_machine(TOOLS)
  rounds = []
  with Server() as server:
    for _ in range(options.rounds):
      each = {}
      for name, command in CLIENTS.items():
        result = run([getattr(options, name.partition("-")[0])] + command[1:], server, options)
        if result and not result["errors"]:
          each[name] = 1e6 / rate(result)
      each["two hand-offs"] = two_handoffs(options.handoff)
      rounds.append(each)
    server.print_others()
    print()
  write_raw("single", TOOLS, options, rounds)
  rows = []
  for name in list(CLIENTS) + ["two hand-offs"]:
    seen = [each[name] for each in rounds if name in each]
    rows.append([name] + (["%.1f" % median(seen), "%.1f-%.1f" % (min(seen), max(seen))] if seen else ["failed", "-"]))
  print_table(["client", "us a request", "range"], rows)
  ratios = [each["headgate"] / (each["c"] + each["two hand-offs"]) for each in rounds if "headgate" in each and "c" in each]
  if not ratios:
    sys.exit("nothing to compare")
  for name in HEADGATE:
    against = [each[name] / each["go"] for each in rounds if name in each and "go" in each]
    if against:
      print("%s / go: %.2f in the median of the rounds, %.2f to %.2f" % (name, median(against), min(against), max(against)))
  print("\nheadgate / (c + two hand-offs): %.2f in the median of the rounds, %.2f to %.2f; the aim is at most 1.15"
        % (median(ratios), min(ratios), max(ratios)))


if __name__ == "__main__":
  main()
