#!/usr/bin/env python3
"""Permits shared over Redis, beside a limiter that polls: 50 processes want 8 permits for 50 ms each.

Each program shows its permits to a judge, by a connection to its socket. The judge counts what is used, and by which
process. The polling limiter is the recipe of many projects: a script that counts up to the limit, and where the limit is
reached, another try after a random pause of 10 to 50 ms.

  swift build -c release --package-path ../Tests/RedisTest --product worker
  Scripts/permits.py ../Tests/RedisTest/.build/release/worker
"""
import argparse
import multiprocessing
import os
import random
import selectors
import socket
import subprocess
import tempfile
import threading
import time

from common import print_machine, print_table

LIMIT, HELD = 8, 0.05


class Redis:
  """A server on a Unix socket, and a client that sends one command at a time."""

  def __init__(self, folder):
    self.path = os.path.join(folder, "r.sock")
    self.server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.path, "--dir", folder, "--save", "",
                                    "--appendonly", "no"], stdout=subprocess.DEVNULL)
    while not os.path.exists(self.path):
      time.sleep(0.01)

  def client(self):
    stream = socket.socket(socket.AF_UNIX)
    stream.connect(self.path)
    return stream.makefile("rwb", buffering=0)

  def info(self, section, name):
    client = self.client()
    for line in call(client, "INFO", section).decode().splitlines():
      if line.startswith(name):
        return line[len(name) + 1:]
    return ""


def call(client, *words):
  encoded = [str(word).encode() for word in words]
  client.write(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))
  head = client.readline()
  if head[:1] != b"$":
    return head[1:].strip()
  return client.read(int(head[1:]) + 2)[:-2]


class Judge:
  """Counts the connections to its socket, as the permits in use, by the process that made them."""

  def __init__(self, folder):
    self.path, self.now, self.most, self.served = os.path.join(folder, "judge"), 0, 0, {}
    self.listener = socket.socket(socket.AF_UNIX)
    self.listener.bind(self.path)
    self.listener.listen(512)
    threading.Thread(target=self.run, daemon=True).start()

  def run(self):
    selector = selectors.DefaultSelector()
    selector.register(self.listener, selectors.EVENT_READ)
    while True:
      # Ends first: a permit that is handed on ends before it begins.
      for key, _ in sorted(selector.select(), key=lambda event: event[0].fileobj is self.listener):
        if key.fileobj is self.listener:
          selector.register(self.listener.accept()[0], selectors.EVENT_READ)
          self.now += 1
          self.most = max(self.most, self.now)
        elif number := key.fileobj.recv(4):
          process = int.from_bytes(number, "little")
          self.served[process] = self.served.get(process, 0) + 1
        else:
          selector.unregister(key.fileobj)
          key.fileobj.close()
          self.now -= 1


def poll(redis, judge):
  """One process of the polling limiter, until it is killed."""
  client = redis.client()
  script = "if redis.call('INCR', KEYS[1]) <= %d then return 1 end redis.call('DECR', KEYS[1]) return 0" % LIMIT
  digest = call(client, "SCRIPT", "LOAD", script).decode()
  while True:
    while call(client, "EVALSHA", digest, 1, "used") != b"1":
      time.sleep(random.uniform(0.01, 0.05))
    with socket.socket(socket.AF_UNIX) as line:
      line.connect(judge.path)
      line.send(os.getpid().to_bytes(4, "little"))
      time.sleep(HELD)
    call(client, "DECR", "used")


def measure(name, start, count, seconds):
  with tempfile.TemporaryDirectory() as folder:
    redis = Redis(folder)
    judge = Judge(folder)
    processes = [start(redis, judge) for _ in range(count)]
    while len(judge.served) < count:
      time.sleep(0.1)
    judge.served, judge.most = {}, 0
    call(redis.client(), "CONFIG", "RESETSTAT")
    begin = time.monotonic()
    time.sleep(seconds)
    elapsed, served = time.monotonic() - begin, dict(judge.served)
    calls = dict(part.split("=") for part in redis.info("commandstats", "cmdstat_evalsha").split(","))
    script = dict(part.split("=") for part in redis.info("latencystats", "latency_percentiles_usec_evalsha").split(","))
    for process in processes:
      process.kill()
    redis.server.kill()
    redis.server.wait()
    return [name, "%.3f" % (sum(served.values()) * HELD / LIMIT / elapsed), str(judge.most),
            "%d-%d" % (min(served.values()), max(served.values())), "%.2f" % (max(served.values()) / min(served.values())),
            "%.0f" % (int(calls["calls"]) / elapsed), "%.0f" % float(script["p50"]), "%.0f" % float(script["p99"])]


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("worker", help="the worker of Tests/RedisTest")
  parser.add_argument("--processes", type=int, default=50)
  parser.add_argument("--seconds", type=float, default=10)
  options = parser.parse_args()
  fork = multiprocessing.get_context("fork")

  def polling(redis, judge):
    process = fork.Process(target=poll, args=(redis, judge), daemon=True)
    process.start()
    return process

  def headgate(redis, judge):
    return subprocess.Popen([options.worker, "unix:" + redis.path, str(LIMIT), str(int(HELD * 1000)), judge.path],
                            stderr=subprocess.DEVNULL)

  print("%d permits of %d ms, %d processes, %g s each\n" % (LIMIT, HELD * 1000, options.processes, options.seconds))
  print_machine(["redis-server"])
  rows = [measure(name, start, options.processes, options.seconds)
          for name, start in [("headgate", headgate), ("polling", polling)]]
  print()
  print_table(["limiter", "used", "at once", "served", "most/least", "scripts/s", "p50 µs", "p99 µs"], rows)


if __name__ == "__main__":
  main()
