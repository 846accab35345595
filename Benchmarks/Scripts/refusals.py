#!/usr/bin/env python3
"""A list of files from a server that refuses requests above a rate: headgate, curl, aria2c and wget2.

nginx on loopback serves a limited number of requests a second (limit_req), and answers the others with 429 and Retry-
After. Each tool in turn gets the same list and the same number of connections. The results come from the server's log
(how many requests it refused) and from the files (which are missing or differ in the end). A tool that is not installed
is left out.

  Scripts/refusals.py --headgate ../.build/release/headgate
  Scripts/refusals.py --headgate … --urls 500 --parallel 16 --rate 20 --burst 20 --retry-after 5
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

from common import Server, print_machine, print_table


class RefusingServer(Server):
  """An nginx that logs each request, with a location that refuses above a rate."""

  def __init__(self, options):
    super().__init__()
    self.options = options

  def __enter__(self):
    super().__enter__()
    path = os.path.join(self.dir, "nginx.conf")
    with open(path) as file:
      text = file.read()
    self.log = os.path.join(self.dir, "limited.log")
    text = text.replace("  access_log off;", """  access_log off;
  log_format arrivals '$msec $status $uri';
  limit_req_zone $binary_remote_addr zone=all:1m rate=%dr/s;
  limit_req_status 429;""" % self.options.rate)
    burst = " burst=%d nodelay" % self.options.burst if self.options.burst else ""
    text = text.replace("    location = /status", """    location /limited/ {
      alias %s/root/files/;
      limit_req zone=all%s;
      add_header Retry-After $wait always;
      access_log %s arrivals;
    }
    location = /status""" % (self.dir, burst, self.log))
    text = text.replace("  server {", "  map $status $wait { 429 %d; }\n  server {" % self.options.retry_after)
    with open(path, "w") as file:
      file.write(text)
    subprocess.run(["nginx", "-p", self.dir, "-c", path, "-e", os.path.join(self.dir, "error.log"), "-s", "reload"],
                   check=True)
    time.sleep(1)
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
  parser.add_argument("--only", nargs="*", default=[])
  return parser.parse_args()


def commands(options, urls, list_file, curl_file):
  """The usual command of each tool for a list with refusals."""
  n = str(options.parallel)
  return {
    "headgate": [options.headgate, "fetch", "-i", list_file, "-P", ".", "--per-host", n, "--retry", "9", "-q"],
    "headgate --rate": [options.headgate, "fetch", "-i", list_file, "-P", ".", "--per-host", n, "--retry", "9", "-q",
                        "--rate", "%d/s" % options.rate],
    "curl -Z": ["curl", "-s", "-f", "-Z", "--parallel-max", n, "--retry", "9", "-K", curl_file],
    "aria2c": ["aria2c", "-q", "-j", n, "-x", n, "-m", "9", "--retry-wait", str(options.retry_after), "-i", list_file],
    "wget2": ["wget2", "-q", "--max-threads", n, "--tries", "9", "--waitretry", str(options.retry_after), "-i", list_file],
  }


def main():
  options = parse()
  options.headgate = os.path.abspath(options.headgate)
  print_machine(("curl", "aria2c", "wget2", "nginx"))
  rows = []
  with RefusingServer(options) as server:
    names = ["%04d" % number for number in range(options.urls)]
    urls = [server.url("limited/" + name) for name in names]
    list_file, curl_file = os.path.join(server.dir, "list"), os.path.join(server.dir, "curl")
    with open(list_file, "w") as file:
      file.writelines(url + "\n" for url in urls)
    with open(curl_file, "w") as file:
      file.writelines('url = "%s"\noutput = "%s"\n' % (url, name) for url, name in zip(urls, names))
    for tool, command in commands(options, urls, list_file, curl_file).items():
      if options.only and tool not in options.only:
        continue
      if not shutil.which(command[0]):
        print("%s is not installed" % tool, file=sys.stderr)
        continue
      out = os.path.join(server.dir, "out")
      shutil.rmtree(out, ignore_errors=True)
      os.mkdir(out)
      start = time.monotonic()
      try:
        code = str(subprocess.run(command, cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=900).returncode)
      except subprocess.TimeoutExpired:
        code = "over 15 min"
      seconds = time.monotonic() - start
      arrivals = server.arrivals()
      missing = sum(1 for name in names if not same(os.path.join(out, name), server.path("files/" + name)))
      refused = sum(1 for _, status, _ in arrivals if status == 429)
      rows.append([tool, "%d" % len(arrivals), "%d" % refused, "%d" % missing, "%.1f" % seconds, code])
      print("%-16s %s" % (tool, " ".join(rows[-1][1:])), flush=True)
      # Until the server's allowance is full again, for the next tool.
      time.sleep(2 * max(1, options.burst / options.rate))
  print()
  print_table(["tool", "requests", "refused", "files missing or wrong", "seconds", "exit"], rows)


def same(one, other):
  try:
    with open(one, "rb") as left, open(other, "rb") as right:
      return left.read() == right.read()
  except OSError:
    return False


if __name__ == "__main__":
  main()
