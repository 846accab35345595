#!/usr/bin/env python3
"""Many small requests over few connections: each client in turn, round after round, against one nginx on loopback.

A client is a known name (headgate, headgate-async, headgate-executor, headgate-all, c, go, go-many, ahc, urlsession) or
NAME=COMMAND; without any, all the known ones run. Its
command gets the arguments URL N CONNECTIONS and prints one JSON line with requests, seconds, cpu and errors, about the
N requests that it made after its 2,000 warm-up ones. Nothing is built here: see Peers/Makefile.

  Scripts/bulk.py
  Scripts/bulk.py headgate headgate-async headgate-executor   callbacks; tasks; tasks on the dispatcher's executor
  Scripts/bulk.py headgate headgate-all     what an observer, the log source, a deadline and a priority take of the rate
  Scripts/bulk.py --rounds 3 c go headgate='.build/release/bulk --quiet'
"""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

from common import BENCHMARKS, median, print_machine, print_table, ratio, write_raw
from nginx import Server

WARM_UP = 2000
PROGRAMS = ("curl", "go", "swift", "nginx")
PEERS = os.path.join(BENCHMARKS, "Peers")
BULK = os.path.join(BENCHMARKS, "Programs/.build/release/Bulk")
KNOWN = {
  "headgate": [BULK],
  "headgate-async": [BULK, "--async"],
  "headgate-executor": [BULK, "--executor"],
  "headgate-all": [BULK, "--all"],
  "c": [os.path.join(PEERS, ".build/c-bulk")],
  "go": [os.path.join(PEERS, ".build/go-bulk")],
  "go-many": [os.path.join(PEERS, ".build/go-bulk"), "-many"],
  "ahc": [os.path.join(PEERS, "Swift/.build/release/ahc")],
  "urlsession": [os.path.join(PEERS, "Swift/.build/release/urlsession")],
}


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--rounds", type=int, default=7)
  parser.add_argument("--requests", type=int, default=60000)
  parser.add_argument("--connections", type=int, default=4)
  parser.add_argument("clients", nargs="*", metavar="CLIENT")
  options = parser.parse_args()
  clients = {}
  for client in options.clients or KNOWN:
    name, separator, command = client.partition("=")
    if not separator and name not in KNOWN:
      parser.error("no known client %s: give NAME=COMMAND" % name)
    clients[name] = shlex.split(command) if separator else KNOWN[name]
  return options, clients


def run(command, server, options):
  """Runs one client once: its figures, or None and the reason on the standard error."""
  arguments = [server.url("small"), str(options.requests), str(options.connections)]
  (accepted, requests), cpu, start = server.counts(), server.cpu(), time.monotonic()
  try:
    done = subprocess.run(command + arguments, stdout=subprocess.PIPE, text=True, timeout=600)
    seconds, cpu = time.monotonic() - start, server.cpu() - cpu
    result = json.loads(done.stdout.strip().splitlines()[-1])
    run = {key: result[key] for key in ("requests", "seconds", "cpu", "errors")}
  except (OSError, subprocess.TimeoutExpired, ValueError, IndexError, KeyError) as error:
    print("failed: %s: %r" % (shlex.join(command), error), file=sys.stderr)
    return None
  accepted_now, requests_now = server.counts()
  run["accepted"] = accepted_now - accepted - 1  # without the connection that asked
  run["served"] = requests_now - requests - 1
  run["busy"] = cpu / seconds
  if done.returncode != 0 or run["requests"] != options.requests:
    print("failed: %s: exit code %d, %d requests" % (shlex.join(command), done.returncode, run["requests"]),
          file=sys.stderr)
    return None
  return run


def rate(run):
  return run["requests"] / run["seconds"]


def cpu_each(run):
  return run["cpu"] / run["requests"] * 1e6


def main():
  options, clients = parse()
  present = {name: command for name, command in clients.items() if shutil.which(command[0])}
  print("bulk: %d requests of 100 bytes a run after %d warm-up ones, %d connections, %d rounds, interleaved\n"
        % (options.requests, WARM_UP, options.connections, options.rounds))
  print_machine(PROGRAMS)
  rounds = []
  with Server() as server:
    for number in range(options.rounds):
      rounds.append({})
      for name, command in present.items():
        result = rounds[-1][name] = run(command, server, options)
        if result:
          print("round %d  %-12s %8.0f requests/s" % (number + 1, name, rate(result)), file=sys.stderr)
    server.print_others()
    print()

  rows, notes = [], []
  for name, command in clients.items():
    runs = [r[name] for r in rounds if r.get(name)]
    if not runs:
      rows.append([name, "missing" if name not in present else "failed"] + ["-"] * 10)
      notes.append("%s: %s: %s" % (name, rows[-1][1], shlex.join(command)))
      continue
    rates = [rate(r) for r in runs]
    rows.append([
      name, "%.0f" % median(rates), "%.0f-%.0f" % (min(rates), max(rates)),
      "%.1f" % median([cpu_each(r) for r in runs]),
      ratio(rounds, name, "c", rate), ratio(rounds, name, "go", rate),
      ratio(rounds, name, "c", cpu_each), ratio(rounds, name, "go", cpu_each), ratio(rounds, name, "headgate", rate),
      str(max(r["accepted"] for r in runs)), "%.0f%%" % (100 * median([r["busy"] for r in runs])),
      str(sum(r["errors"] for r in runs)),
    ])
    if len(runs) < options.rounds:
      notes.append("%s: %d of %d rounds failed" % (name, options.rounds - len(runs), options.rounds))
    for served in sorted({r["served"] for r in runs} - {options.requests + WARM_UP}):
      notes.append("%s: the server saw %d requests, not %d" % (name, served, options.requests + WARM_UP))
  print_table(["client", "requests/s", "range", "cpu us/request", "rate/c", "rate/go", "cpu/c", "cpu/go",
               "rate/headgate", "opened", "nginx busy", "errors"], rows)
  print("\nMedians over the rounds; a ratio is taken within each round, then its median. opened: the most connections "
        "that one run opened.\nnginx busy: the server's share of one core during a run.")
  for note in notes:
    print(note)
  write_raw("bulk", PROGRAMS, options, rounds)


if __name__ == "__main__":
  main()
