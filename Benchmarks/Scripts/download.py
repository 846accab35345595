#!/usr/bin/env python3
"""Files to disk: headgate beside curl, each in turn, round after round, against one nginx on loopback.

  files   3,000 files of 1 to 4 KB:  curl -s -Z --parallel-max 6 -K list
                                     headgate fetch -i list -P dir --per-host 6 -q
                                     the same with --session, a new journal each time
                                     aria2c -q -j16 -i list -d dir, where it is installed
  big     one file of 1 GB:          curl -o file URL
                                     headgate fetch -P dir URL

Each run's outputs are compared with what the server has (count, sizes, checksums), then removed. They go to memory
(/dev/shm) where there is such a place, so that the disk is not measured; --dir puts them elsewhere. PEER_CURL and
PEER_ARIA2 name other builds of curl and aria2c.

  Scripts/download.py --headgate ../.build/release/headgate
"""
import argparse
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from common import median, peer, print_machine, print_table, ratio, write_raw
from nginx import Server

TIME = "/usr/bin/time"
PROGRAMS = ("curl", "aria2c", "nginx")


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--headgate", metavar="BINARY", help="the headgate command; without it curl runs alone")
  parser.add_argument("--rounds", type=int, default=7)
  parser.add_argument("--dir", default="/dev/shm" if os.path.isdir("/dev/shm") else None)
  parser.add_argument("--only", choices=["files", "big"])
  return parser.parse_args()


def contents(folder):
  """Size and checksum of each file in the folder and below, in an order that does not depend on names."""
  found = []
  for parent, _, names in os.walk(folder):
    for name in names:
      with open(os.path.join(parent, name), "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
          digest.update(block)
        found.append((file.tell(), digest.hexdigest()))
  return sorted(found)


def run(command, outputs, expected, server):
  """Runs one command once and checks its outputs: its figures, or None and the reason on the standard error."""
  os.mkdir(outputs)
  # time(1) reports the peak: a direct child of Python would inherit Python's peak.
  peak_file = os.path.join(server.dir, "peak")
  accepted, before, start = server.counts()[0], resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
  try:
    process = subprocess.Popen([TIME, "-q", "-f", "%M", "-o", peak_file] + command, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, cwd=outputs)
    # Not wait(timeout=), which polls every 50 ms, a third of curl's time.
    overdue = threading.Timer(600, process.kill)
    overdue.start()
    code = process.wait()
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    overdue.cancel()
    if code != 0:
      print("failed: exit code %d: %s" % (code, " ".join(command)), file=sys.stderr)
      return None
    found = contents(outputs)
    if found != expected:
      print("failed: %d files, %d bytes, not the same as the server's %d files, %d bytes: %s" % (
        len(found), sum(size for size, _ in found), len(expected), sum(size for size, _ in expected),
        " ".join(command)), file=sys.stderr)
      return None
    with open(peak_file) as file:
      peak = int(file.read().split()[-1])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "cpu": cpu, "peak": peak / 1024, "opened": server.counts()[0] - accepted - 1}
  finally:
    shutil.rmtree(outputs)


def compare(title, commands, expected, server, work, options):
  """Runs the commands in turn and prints their table; true if all that are there had the right outputs."""
  rounds = []
  for number in range(options.rounds):
    rounds.append({})
    for name, command in commands.items():
      result = command and run(command, os.path.join(work, "out"), expected, server)
      rounds[-1][name] = result
      if result:
        print("round %d  %-8s %8.3f s" % (number + 1, name, result["seconds"]), file=sys.stderr)
  rows, complete = [], True
  for name, command in commands.items():
    runs = [r[name] for r in rounds if r[name]]
    complete = complete and (not command or len(runs) == options.rounds)
    if not runs:
      rows.append([name, "failed" if command else "missing"] + ["-"] * 6 + ["0/%d" % options.rounds])
      continue
    seconds = [r["seconds"] for r in runs]
    rows.append([
      name, "%.3f" % median(seconds), "%.3f-%.3f" % (min(seconds), max(seconds)),
      "%.3f" % median([r["cpu"] for r in runs]), "%.1f" % median([r["peak"] for r in runs]),
      ratio(rounds, name, "curl", lambda r: r["seconds"]), ratio(rounds, name, "curl", lambda r: r["cpu"]),
      str(max(r["opened"] for r in runs)), "%d/%d" % (len(runs), options.rounds),
    ])
  print("\n%s: %d files, %d bytes\n" % (title, len(expected), sum(size for size, _ in expected)))
  print_table(["command", "seconds", "range", "cpu s", "peak MB", "time/curl", "cpu/curl", "opened", "right"], rows)
  write_raw(title, PROGRAMS, options, rounds)
  return complete


def main():
  options = parse()
  if not os.access(TIME, os.X_OK):
    sys.exit("download.py needs %s (Debian's package time)" % TIME)
  curl = peer("curl")
  headgate = options.headgate and shutil.which(os.path.abspath(options.headgate))
  if options.headgate and not headgate:
    print("headgate: missing: %s" % options.headgate)
  print("download: %d rounds, interleaved; outputs below %s\n" % (options.rounds, options.dir or tempfile.gettempdir()))
  print_machine(PROGRAMS)
  complete = True
  with Server(options.dir) as server:
    work, out = server.dir, os.path.join(server.dir, "out")
    names = sorted(os.listdir(server.path("files")))
    curl_list, url_list = os.path.join(work, "curl.list"), os.path.join(work, "urls.list")
    with open(curl_list, "w") as curl_lines, open(url_list, "w") as url_lines:
      for name in names:
        url = server.url("files/" + name)
        curl_lines.write('url = "%s"\noutput = "%s"\n' % (url, os.path.join(out, name)))
        url_lines.write(url + "\n")
    if options.only != "big":
      complete &= compare("files", {
        "curl": curl and [curl, "-s", "-Z", "--parallel-max", "6", "-K", curl_list],
        "headgate": headgate and [headgate, "fetch", "-i", url_list, "-P", out, "--per-host", "6", "-q"],
        "session": headgate and ["sh", "-c", 'rm -f "$1"; exec "$0" fetch -i "$2" -P "$3" --per-host 6 -q --session "$1"',
                                 headgate, os.path.join(work, "journal"), url_list, out],
        "aria2c": peer("aria2c") and [peer("aria2c"), "-q", "-j16", "-i", url_list, "-d", out],
      }, contents(server.path("files")), server, work, options)
    if options.only != "files":
      with tempfile.TemporaryDirectory(dir=work) as alone:
        os.link(server.path("big"), os.path.join(alone, "big"))
        expected = contents(alone)
      complete &= compare("big", {
        "curl": curl and [curl, "-o", os.path.join(out, "big"), server.url("big")],
        "headgate": headgate and [headgate, "fetch", "-P", out, server.url("big")],
      }, expected, server, work, options)
    print()
    server.print_others()
  print("\nMedians over the rounds; a ratio is taken within each round, then its median. peak: resident memory. "
        "opened: the most connections\nof one run. right: the runs whose outputs were the same as the server's files.")
  sys.exit(0 if complete else 1)


if __name__ == "__main__":
  main()
