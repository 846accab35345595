#!/usr/bin/env python3
"""A host that answers every request with 429, beside one that serves: what does it cost the other one?

nginx on loopback serves files to one host, and refuses all requests to another one (127.0.0.1 and localhost). headgate
fetches the same list of the good host alone, and mixed with as many URLs of the other one, in turn. The time is that from
the first to the last file of the good host, in the server's log. Then the other host serves too, and the same command
continues the session: it must send the rest, and nothing else.

  Scripts/beside.py --headgate ../.build/release/headgate
  Scripts/beside.py --headgate … --urls 1000 --rounds 5 --patience 5
"""
import argparse
import os
import shutil
import subprocess
import time

from common import median, print_machine, print_table
from nginx import Server

LOCATION = "    location = /status"
REFUSAL = "    location /files/ { if ($host = localhost) { return 429; } }\n"


class TwoHosts(Server):
  """An nginx that logs each request, with a second name that refuses."""

  def __enter__(self):
    super().__enter__()
    self.log = os.path.join(self.dir, "arrivals.log")
    self.change(("  access_log off;", """  log_format arrivals '$msec $host $status';
  access_log %s arrivals;""" % self.log), (LOCATION, REFUSAL + LOCATION))
    return self

  def serve_all(self):
    """From now on the second name serves too."""
    self.change((REFUSAL, ""))

  def arrivals(self):
    """Time, host and status of each request so far; the log is truncated."""
    time.sleep(0.2)
    with open(self.log) as file:
      lines = [line.split() for line in file]
    open(self.log, "w").close()
    return [(float(moment), host, int(status)) for moment, host, status in lines]


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--headgate", metavar="BINARY", required=True)
  parser.add_argument("--urls", type=int, default=1000)
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--per-host", type=int, default=4)
  parser.add_argument("--patience", type=int, default=5, help="seconds")
  return parser.parse_args()


def fetch(options, server, lists, out, *more):
  """Runs the command. Returns its exit status, its seconds, and what the server saw."""
  server.arrivals()
  start = time.monotonic()
  command = [options.headgate, "fetch", "-q", "-P", out, "--per-host", str(options.per_host), "--no-state", "--no-config",
             "--host-patience", str(options.patience)]
  for name in lists:
    command += ["-i", name]
  code = subprocess.run(command + list(more), stderr=subprocess.DEVNULL, timeout=600).returncode
  return code, time.monotonic() - start, server.arrivals()


def span(arrivals):
  """The seconds from the first to the last file of the good host."""
  times = [moment for moment, host, status in arrivals if host == "127.0.0.1" and status == 200]
  return max(times) - min(times)


def main():
  options = parse()
  options.headgate = os.path.abspath(options.headgate)
  print_machine(("nginx",))
  with TwoHosts() as server:
    def write(name, text):
      path = os.path.join(server.dir, name)
      with open(path, "w") as file:
        file.write(text)
      return path

    good = ["http://127.0.0.1:%d/files/%04d\n" % (server.port, number) for number in range(options.urls)]
    busy = ["http://localhost:%d/files/%04d?\n" % (server.port, number) for number in range(options.urls)]
    alone = write("alone", "".join(good))
    beside = write("beside", "".join(url for pair in zip(good, busy) for url in pair))
    out, session = os.path.join(server.dir, "out"), os.path.join(server.dir, "session")
    spans, ends = ([], []), []
    for number in range(options.rounds):
      for place, name in enumerate((alone, beside)):
        shutil.rmtree(out, ignore_errors=True)
        if os.path.exists(session):
          os.remove(session)
        code, seconds, seen = fetch(options, server, [name], out, "--session", session)
        assert code == (75 if place else 0), code
        spans[place].append(span(seen))
        if place:
          ends.append(seconds)
          refused = sum(1 for _, _, status in seen if status == 429)
    server.serve_all()
    code, seconds, seen = fetch(options, server, [beside], out, "--session", session)
    rest = [host for _, host, _ in seen]
    print_table(
      ["measured", "value"],
      [["good host alone, seconds", "%.2f" % median(spans[0])], ["beside the other, seconds", "%.2f" % median(spans[1])],
       ["ratio", "%.3f" % median([two / one for one, two in zip(*spans)])],
       ["seconds until the end of the run, with a patience of %d" % options.patience, "%.1f" % median(ends)],
       ["requests refused in the last run", "%d" % refused],
       ["then sent by the next run, of %d" % options.urls, "%d" % rest.count("localhost")],
       ["sent again to the good host", "%d" % rest.count("127.0.0.1")], ["its exit status", "%d" % code]])
    server.print_others()


if __name__ == "__main__":
  main()
