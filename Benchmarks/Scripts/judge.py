#!/usr/bin/env python3
"""Whether the limit at each server is kept, as the servers count it: headgate, curl, aria2c and wget2.

Five servers, written here, answer each request after a delay and count: the most connections that were open at once,
the most requests, connections in all, and requests for a file that came again. Each tool gets the same list, sorted by
server, and may have four requests at once at each server. A tool without such a limit runs twice: with the total that
keeps all servers busy, and with the total that keeps to the limit. In the rows that begin with "two", two commands run
at the same time, each with every other line of the list. In the last row the command is killed (SIGKILL) and started
again, several times. A tool that is not installed is left out. PEER_CURL, PEER_ARIA2 and PEER_WGET2 name other builds.

  Scripts/judge.py --headgate ../.build/release/headgate
  Scripts/judge.py --headgate … --servers 5 --urls 100 --limit 4 --delay 50 --kills 5
"""
import argparse
import asyncio
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from common import peer, print_machine, print_table, write_lists, write_raw

PEERS = ("curl", "aria2c", "wget2")
BODY = b"x" * 99 + b"\n"


class Judge:
  """Servers on loopback that count what reaches them, for a `with` statement."""

  def __init__(self, servers, delay):
    self.servers, self.delay = servers, delay / 1000
    self.ports = []

  def __enter__(self):
    ready = threading.Event()
    self.loop = asyncio.new_event_loop()
    self.thread = threading.Thread(target=self.serve, args=(ready,), daemon=True)
    self.thread.start()
    ready.wait()
    self.start_again()
    return self

  def __exit__(self, *_):
    self.loop.call_soon_threadsafe(self.loop.stop)
    self.thread.join()

  def serve(self, ready):
    async def listen():
      for number in range(self.servers):
        server = await asyncio.start_server(lambda reader, writer, number=number: self.talk(number, reader, writer),
                                            "127.0.0.1", 0, backlog=1024)
        self.ports.append(server.sockets[0].getsockname()[1])
      ready.set()

    self.loop.run_until_complete(listen())
    self.loop.run_forever()

  def start_again(self):
    """Sets all counts to zero; no command may be running."""
    self.open, self.running = [0] * self.servers, [0] * self.servers
    self.most_open, self.most_running = [0] * self.servers, [0] * self.servers
    self.connections, self.paths = 0, collections.Counter()

  async def talk(self, number, reader, writer):
    self.connections += 1
    self.open[number] += 1
    self.most_open[number] = max(self.most_open[number], self.open[number])
    try:
      while head := await reader.readuntil(b"\r\n\r\n"):
        self.paths[head.split(b" ", 2)[1].decode()] += 1
        self.running[number] += 1
        self.most_running[number] = max(self.most_running[number], self.running[number])
        await asyncio.sleep(self.delay)
        self.running[number] -= 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY)
        await writer.drain()
    except (asyncio.IncompleteReadError, OSError):
      pass
    finally:
      self.open[number] -= 1
      writer.close()


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--headgate", metavar="BINARY", required=True)
  parser.add_argument("--servers", type=int, default=5)
  parser.add_argument("--urls", type=int, default=100, help="for each server")
  parser.add_argument("--limit", type=int, default=4, help="requests at once at a server")
  parser.add_argument("--delay", type=int, default=50, help="milliseconds")
  parser.add_argument("--kills", type=int, default=5)
  return parser.parse_args()


def has_host_limit(curl):
  """Whether it is curl 8.16 or later."""
  return curl and b"--parallel-max-host" in subprocess.run([curl, "--help", "all"], stdout=subprocess.PIPE).stdout


def commands(options, folder):
  """For each row its tool, arguments, and how many of them run at once; 0 for one that is killed."""
  limit, total = str(options.limit), str(options.limit * options.servers)
  headgate = ["fetch", "-i", "LIST", "-O", "-q", "--per-host", limit, "-j", total]
  share = ["--share", "unix:" + os.path.join(folder, "share")]
  session = ["--session", os.path.join(folder, "journal")]
  curl, aria2c, wget2 = (peer(name) for name in PEERS)
  parallel = ["-s", "-f", "-K", "CURL", "-Z", "--parallel-max"]
  by_host = parallel + [total, "--parallel-max-host", limit]
  newer_curl = [curl] if has_host_limit(curl) else []
  rows = [("headgate fetch --per-host " + limit, options.headgate, headgate, 1)]
  rows += [("curl -Z --parallel-max-host " + limit, curl, by_host, 1) for curl in newer_curl]
  for most in (total, limit):
    rows.append(("curl -Z --parallel-max " + most, curl, parallel + [most], 1))
    rows.append(("aria2c -j " + most, aria2c, ["-q", "-i", "LIST", "-j", most], 1))
    rows.append(("wget2 --max-threads " + most, wget2, ["-q", "-i", "LIST", "--max-threads", most], 1))
  rows.append(("two headgate fetch --share unix --per-host " + limit, options.headgate, headgate + share, 2))
  rows += [("two curl -Z --parallel-max-host " + limit, curl, by_host, 2) for curl in newer_curl]
  rows.append(("headgate fetch --session, killed", options.headgate, headgate + session, 0))
  return rows


def run_killed(command, out, kills, judge):
  """Kills the command a few times, each time when it has made a further part of the files, then lets it end: its exit
  status, and the number of requests for files that were complete at a kill."""
  everything, before = sum(1 for _ in open(command[command.index("-i") + 1])), {}

  def complete():
    return [name for name in os.listdir(out) if not name.endswith(".part")]

  for kill in range(1, kills + 1):
    process = subprocess.Popen(command, cwd=out, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(complete()) < everything * kill // (kills + 1):
      time.sleep(0.005)
    process.kill()
    process.wait()
    time.sleep(0.2)
    for name in complete():
      before.setdefault(name, judge.paths["/" + name])
  code = subprocess.run(command, cwd=out, stderr=subprocess.DEVNULL, timeout=300).returncode
  return [code], sum(judge.paths["/" + name] - count for name, count in before.items())


def content(path):
  try:
    with open(path, "rb") as file:
      return file.read()
  except OSError:
    return None


def run(judge, folder, names, lists, program, arguments, at_once, kills):
  """Runs one row in an empty folder: its figures."""
  out = os.path.join(folder, "out")
  shutil.rmtree(out, ignore_errors=True)
  os.mkdir(out)
  judge.start_again()
  start, complete_again = time.monotonic(), 0
  each = [[program] + [files.get(argument, argument) for argument in arguments] for files in lists[max(at_once, 1)]]
  if at_once:
    processes = [subprocess.Popen(command, cwd=out, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                 for command in each]
    exits = [process.wait(timeout=300) for process in processes]
  else:
    exits, complete_again = run_killed(each[0], out, kills, judge)
  seconds = time.monotonic() - start
  missing = sum(1 for name in names if content(os.path.join(out, name)) != BODY)
  time.sleep(0.2)
  return {
    "most connections": max(judge.most_open), "most requests": max(judge.most_running),
    "connections": judge.connections, "again": sum(judge.paths.values()) - len(judge.paths),
    "complete, again": complete_again, "missing": missing, "seconds": seconds, "exit": max(exits),
  }


def main():
  options = parse()
  options.headgate = os.path.abspath(options.headgate)
  programs = (options.headgate, *PEERS)
  print_machine(programs)
  seen = {}
  with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder, Judge(options.servers, options.delay) as judge:
    urls = [("http://127.0.0.1:%d/%d-%04d" % (port, number, url), "%d-%04d" % (number, url))
            for number, port in enumerate(judge.ports) for url in range(options.urls)]
    lists = {1: [write_lists(folder, "all", urls)],
             2: [write_lists(folder, "half%d" % half, urls[half::2]) for half in (0, 1)]}
    names = [name for _, name in urls]
    for name, program, arguments, at_once in commands(options, folder):
      if program:
        seen[name] = run(judge, folder, names, lists, program, arguments, at_once, options.kills)
      else:
        print("left out, since it is not installed: %s" % name, file=sys.stderr)
  ideal = options.urls / options.limit * options.delay / 1000
  print("%d servers, %d files each, %d ms an answer, %d requests at once at a server: at least %.2f s\n" % (
    options.servers, options.urls, options.delay, options.limit, ideal))
  figures = ["most requests", "most connections", "connections", "again", "complete, again", "missing"]
  print_table(["command", "limit", *figures, "seconds", "exit"], [
    ["`%s`" % name, "kept" if row["most requests"] <= options.limit else "BROKEN", *(str(row[key]) for key in figures),
     "%.2f" % row["seconds"], str(row["exit"])] for name, row in seen.items()])
  print("""
limit: whether it was kept by the requests. most: at once, at one server; connections, with idle ones.
again: requests for files that were requested before; complete, again: for files that were complete at a kill.
The last command was killed %d times.""" % options.kills)
  write_raw("judge", programs, options, seen)


if __name__ == "__main__":
  main()
