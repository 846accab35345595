#!/usr/bin/env python3
"""Whether the order of a list matters to headgate, and what a long list costs in memory.

  Scripts/order.py ratio --headgate ../.build/release/headgate
      A list sorted by host beside the same list shuffled: servers of headgate's own that answer after a delay, and the
      median ratio of the times.
  Scripts/order.py memory --headgate … --lines 10000000 --hosts 100000 --order sorted
      The peak memory and the time to the first request. All hosts are behind one proxy, an nginx that answers each
      request itself with 404, so that names are claimed and no files are written.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time

from common import Others, median, print_machine, print_table, write_raw
from nginx import Server


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("what", choices=["ratio", "memory"])
  parser.add_argument("--headgate", metavar="BINARY", required=True)
  parser.add_argument("--servers", type=int, default=20)
  parser.add_argument("--urls", type=int, default=1000, help="for each server")
  parser.add_argument("--delay", type=int, default=50, help="milliseconds")
  parser.add_argument("--per-host", type=int, default=4)
  parser.add_argument("--rounds", type=int, default=3)
  parser.add_argument("--lines", type=int, default=1_000_000)
  parser.add_argument("--hosts", type=int, default=10_000)
  parser.add_argument("--order", choices=["sorted", "shuffled"], default="sorted")
  options, options.more = parser.parse_known_args()  # all others are for headgate fetch
  return options


def fetch(options, folder, lines, name):
  """Seconds for one run; stops the script if a file is missing."""
  path, out = os.path.join(folder, "list"), os.path.join(folder, "out")
  with open(path, "w") as file:
    file.writelines(line + "\n" for line in lines)
  start = time.monotonic()
  subprocess.run([options.headgate, "fetch", "-i", path, "-P", out, "--per-host", str(options.per_host), "-q",
                  *options.more], check=True)
  seconds = time.monotonic() - start
  assert len(os.listdir(out)) == len(lines), "%s: files are missing" % name
  shutil.rmtree(out)
  return seconds


def ratio(options):
  others = Others()
  with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
    origin = subprocess.Popen(
      [options.headgate, "origin", "--endpoints", str(options.servers), "--delay", str(options.delay)],
      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
      ports = json.loads(origin.stdout.readline())["ports"]
      in_order = ["http://127.0.0.1:%d/bytes/100?%d.%d" % (port, port, number)
                  for port in ports for number in range(options.urls)]
      rows = []
      for _ in range(options.rounds):
        shuffled = random.Random(1).sample(in_order, len(in_order))
        rows.append((fetch(options, folder, in_order, "sorted"), fetch(options, folder, shuffled, "shuffled")))
        print("sorted %.2f s  shuffled %.2f s  ratio %.3f" % (*rows[-1], rows[-1][0] / rows[-1][1]), flush=True)
    finally:
      origin.stdin.close()
      origin.wait()
  ideal = options.urls / options.per_host * options.delay / 1000
  print()
  print_table(["servers", "URLs each", "ms", "at once", "ideal s", "sorted s", "shuffled s", "ratio"],
              [[str(options.servers), str(options.urls), str(options.delay), str(options.per_host), "%.1f" % ideal,
                "%.2f" % median([a for a, _ in rows]), "%.2f" % median([b for _, b in rows]),
                "%.3f" % median([a / b for a, b in rows])]])
  others.print()
  write_raw("order", (), options, [{"sorted": a, "shuffled": b} for a, b in rows])


def write_list(options, path):
  each = options.lines // options.hosts
  with open(path, "w") as file:
    if options.order == "sorted":
      for host in range(options.hosts):
        file.writelines("http://h%d.test/path/of/item/%d-%d\n" % (host, host, number) for number in range(each))
    else:
      for number in range(each):
        hosts = random.Random(number).sample(range(options.hosts), options.hosts)
        file.writelines("http://h%d.test/path/of/item/%d-%d\n" % (host, host, number) for host in hosts)


def memory(options):
  with Server() as server:
    # It receives requests as a proxy does, for all hosts.
    server.change(("    location = /status", "    location /path/ { return 404 '.'; }\n    location = /status"),
                  ("worker_connections 1024", "worker_connections 8192"))
    lines = os.path.join(server.dir, "list")
    write_list(options, lines)
    before = server.counts()[1]
    start = time.monotonic()
    process = subprocess.Popen(
      [options.headgate, "fetch", "-i", lines, "-P", os.path.join(server.dir, "out"), "--min-interval", "0",
       "--proxy", "http://127.0.0.1:%d" % server.port, "-q", *options.more], stderr=subprocess.DEVNULL)
    first = None
    while first is None and process.poll() is None:
      # Reading the count is a request itself.
      asked = server.counts()[1]
      before += 1
      if asked > before:
        first = time.monotonic() - start
      time.sleep(0.005)
    print("first request after at most %.0f ms" % (1000 * (first or 0)), flush=True)
    most = 0
    while process.poll() is None:
      try:
        with open("/proc/%d/status" % process.pid) as file:
          values = dict(line.split(":", 1) for line in file)
        most = max(most, int(values["VmHWM"].split()[0]))
        resident = int(values["VmRSS"].split()[0])
        done = server.counts()[1]
        print("%6.0f s  %9d requests  resident %.0f MB  peak %.0f MB  threads %s" % (
          time.monotonic() - start, done - before, resident / 1024, most / 1024, values["Threads"].strip()), flush=True)
      except (OSError, KeyError):
        pass
      for _ in range(50):
        if process.poll() is not None:
          break
        time.sleep(0.1)
    print("%d lines, %d hosts, %s: peak %.0f MB, %.0f s, exit %d" % (
      options.lines, options.hosts, options.order, most / 1024, time.monotonic() - start, process.returncode))


def main():
  options = parse()
  options.headgate = os.path.abspath(options.headgate)
  print_machine(("nginx",))
  ratio(options) if options.what == "ratio" else memory(options)


if __name__ == "__main__":
  main()
