#!/usr/bin/env python3
"""A list of files from a server that refuses requests above a rate: headgate, curl, aria2c and wget2.

nginx on loopback serves a limited number of requests a second (limit_req), and answers the others with 429 and Retry-
After. Each tool in turn gets the same list and the same number of connections; headgate has its defaults, the others
more tries. The results come from the server's log (how many requests it refused) and from the files (which are missing
or differ in the end). A tool that is not installed is left out. PEER_CURL, PEER_ARIA2 and PEER_WGET2 name other builds.

  Scripts/refusals.py --headgate ../.build/release/headgate
  Scripts/refusals.py --headgate … --urls 500 --parallel 16 --rate 20 --burst 20 --retry-after 5
  Scripts/refusals.py --headgate … --only curl     the rows whose command contains this
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

from common import peer, print_machine, print_table, write_lists, write_raw
from nginx import Server

PEERS = ("curl", "aria2c", "wget2")
TIMEOUT = 900


class RefusingServer(Server):
  """An nginx that logs each request, with a location that refuses above a rate."""

  def __init__(self, options):
    super().__init__()
    self.options = options

  def __enter__(self):
    super().__enter__()
    self.log = os.path.join(self.dir, "limited.log")
    burst = " burst=%d nodelay" % self.options.burst if self.options.burst else ""
    self.change(("  access_log off;", """  access_log off;
  log_format arrivals '$msec $status $uri';
  limit_req_zone $binary_remote_addr zone=all:1m rate=%dr/s;
  limit_req_status 429;""" % self.options.rate), ("    location = /status", """    location /limited/ {
      alias %s/root/files/;
      limit_req zone=all%s;
      add_header Retry-After $wait always;
      access_log %s arrivals;
    }
    location = /status""" % (self.dir, burst, self.log)),
                ("  server {", "  map $status $wait { 429 %d; }\n  server {" % self.options.retry_after))
    return self

  def arrivals(self):
    """Time, status and path of each request so far; the log is truncated."""
    time.sleep(0.2)
    with open(self.log) as file:
      lines = [line.split() for line in file]
    open(self.log, "w").close()
    return [(float(moment), int(status), path) for moment, status, path in lines]


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--headgate", metavar="BINARY", required=True)
  parser.add_argument("--urls", type=int, default=500)
  parser.add_argument("--parallel", type=int, default=16)
  parser.add_argument("--rate", type=int, default=20)
  parser.add_argument("--burst", type=int, default=20)
  parser.add_argument("--retry-after", type=int, default=5)
  parser.add_argument("--only", default="", metavar="TEXT")
  return parser.parse_args()


def commands(options):
  """For each row its tool, and arguments; LIST and CURL stand for the files with the list."""
  at_once, rate, wait = str(options.parallel), "%d/s" % options.rate, str(options.retry_after)
  headgate = ["fetch", "-i", "LIST", "-O", "-q", "--per-host", at_once]
  curl = ["-s", "-f", "--retry", "9", "-K", "CURL"]
  wget2 = ["-q", "--max-threads", at_once, "--tries", "9", "--waitretry", wait, "-i", "LIST"]
  return [
    ("headgate fetch", options.headgate, headgate),
    ("headgate fetch --rate " + rate, options.headgate, headgate + ["--rate", rate]),
    ("curl -Z --retry 9", peer("curl"), ["-Z", "--parallel-max", at_once] + curl),
    ("curl --rate %s --retry 9" % rate, peer("curl"), ["--rate", rate] + curl),
    ("xargs -P %s curl --retry 9" % at_once, peer("curl") and shutil.which("xargs"),
     ["-a", "LIST", "-P", at_once, "-n", "1", peer("curl"), "-s", "-f", "--retry", "9", "-O"]),
    ("aria2c -m 9", peer("aria2c"),
     ["-q", "-j", at_once, "-x", at_once, "-m", "9", "--retry-wait", wait, "-i", "LIST"]),
    ("wget2 --tries 9", peer("wget2"), wget2),
    ("wget2 --tries 9 --retry-on-http-error 429", peer("wget2"), ["--retry-on-http-error", "429"] + wget2),
  ]


def run(command, server, names):
  """Runs one command in an empty folder: its figures."""
  out = os.path.join(server.dir, "out")
  shutil.rmtree(out, ignore_errors=True)
  os.mkdir(out)
  start = time.monotonic()
  try:
    code = subprocess.run(command, cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          timeout=TIMEOUT).returncode
  except subprocess.TimeoutExpired:
    code = None
  seconds = time.monotonic() - start
  arrivals = server.arrivals()
  return {
    "requests": len(arrivals),
    "refused": sum(1 for _, status, _ in arrivals if status == 429),
    "missing": sum(1 for name in names if not same(os.path.join(out, name), server.path("files/" + name))),
    "seconds": seconds, "exit": code,
    "arrivals": [[round(moment - arrivals[0][0], 3), status, path] for moment, status, path in arrivals],
  }


def main():
  options = parse()
  options.headgate = os.path.abspath(options.headgate)
  programs = (options.headgate, *PEERS, "nginx")
  print_machine(programs)
  seen = {}
  with RefusingServer(options) as server:
    names = ["%04d" % number for number in range(options.urls)]
    files = write_lists(server.dir, "limited", [(server.url("limited/" + name), name) for name in names])
    for name, program, arguments in commands(options):
      if options.only not in name:
        continue
      if not program:
        print("left out, since it is not installed: %s" % name, file=sys.stderr)
        continue
      seen[name] = run([program] + [files.get(argument, argument) for argument in arguments], server, names)
      print("%s: %d refused" % (name, seen[name]["refused"]), file=sys.stderr, flush=True)
      # Until the server's allowance is full again, for the next tool.
      time.sleep(2 * max(1, options.burst / options.rate))
  print_table(
    ["%d files, %d/s" % (options.urls, options.rate), "requests", "refused", "files missing", "seconds", "exit"],
    [["`%s`" % name, str(row["requests"]), str(row["refused"]), str(row["missing"]), "%.1f" % row["seconds"],
      "over %d s" % TIMEOUT if row["exit"] is None else str(row["exit"])] for name, row in seen.items()])
  write_raw("refusals", programs, options, seen)


def same(one, other):
  try:
    with open(one, "rb") as left, open(other, "rb") as right:
      return left.read() == right.read()
  except OSError:
    return False


if __name__ == "__main__":
  main()
