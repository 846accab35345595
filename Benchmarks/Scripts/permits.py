#!/usr/bin/env python3
"""Permits shared over Redis, compared with a polling limiter: 50 processes want 8 permits for 50 ms each.

Each program shows its permits to a judge, by a connection to its socket. The judge counts the permits in use, and which
process has them. The polling limiter is the recipe of many projects: a script counts up to the limit; when the limit is
reached, the program tries again after a random pause of 10 to 50 ms. Then programs are killed while they hold permits,
and at last 50 programs are idle.

Redis has real-time priority where that is permitted: otherwise the time in a script includes the time that the kernel
gave to the many processes on the same processors.

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

# The number of permits; the time for which one is held, and the worker's lease, in seconds.
LIMIT, HELD, LEASE = 8, 0.05, 1


class Redis:
  """A server on a Unix socket, and a client that sends one command at a time."""
  priority = "normal"

  def __init__(self, folder):
    self.path = os.path.join(folder, "r.sock")
    self.server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.path, "--dir", folder, "--save", "",
                                    "--appendonly", "no"], stdout=subprocess.DEVNULL)
    try:
      os.sched_setscheduler(self.server.pid, os.SCHED_FIFO, os.sched_param(50))
      Redis.priority = "real-time"
    except PermissionError:
      pass
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
    self.path, self.most, self.served, self.holders = os.path.join(folder, "judge"), 0, {}, {}
    self.changed = threading.Condition()
    self.listener = socket.socket(socket.AF_UNIX)
    self.listener.bind(self.path)
    self.listener.listen(512)
    threading.Thread(target=self.run, daemon=True).start()

  def run(self):
    selector = selectors.DefaultSelector()
    selector.register(self.listener, selectors.EVENT_READ)
    while True:
      # Ends first: a permit that is passed on ends at one process before it begins at the next.
      for key, _ in sorted(selector.select(), key=lambda event: event[0].fileobj is self.listener):
        if key.fileobj is self.listener:
          selector.register(self.listener.accept()[0], selectors.EVENT_READ)
        elif number := key.fileobj.recv(4):
          process = int.from_bytes(number, "little")
          with self.changed:
            self.holders[key.fileobj] = process
            self.served[process] = self.served.get(process, 0) + 1
            self.most = max(self.most, len(self.holders))
            self.changed.notify()
        else:
          selector.unregister(key.fileobj)
          with self.changed:
            self.holders.pop(key.fileobj, None)
            self.changed.notify()
          key.fileobj.close()

  def wait(self, condition):
    with self.changed:
      self.changed.wait_for(condition)


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
    judge.wait(lambda: len(judge.served) == count)
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


def reuse(start, count, kills):
  """The time from the kill of a program until all permits are in use again, in seconds."""
  with tempfile.TemporaryDirectory() as folder:
    redis = Redis(folder)
    judge = Judge(folder)
    processes = {process.pid: process for process in (start(redis, judge) for _ in range(count))}
    judge.wait(lambda: len(judge.served) == count)
    times = []
    for _ in range(kills):
      judge.wait(lambda: len(judge.holders) == LIMIT)
      with judge.changed:
        victim = random.choice([process for process in judge.holders.values() if process in processes])
      processes.pop(victim).kill()
      begin = time.monotonic()
      judge.wait(lambda: victim not in judge.holders.values())
      judge.wait(lambda: len(judge.holders) == LIMIT)
      times.append(time.monotonic() - begin)
      process = start(redis, judge)
      processes[process.pid] = process
    for process in processes.values():
      process.kill()
    redis.server.kill()
    redis.server.wait()
    return times


def idle(start, count, seconds):
  """The commands per second of a program that used its permits a lease ago or earlier."""
  with tempfile.TemporaryDirectory() as folder:
    redis = Redis(folder)
    judge = Judge(folder)
    processes = [start(redis, judge) for _ in range(count)]
    judge.wait(lambda: sum(judge.served.values()) == 2 * count and not judge.holders)
    time.sleep(2 * LEASE)
    before = int(redis.info("stats", "total_commands_processed").replace(":", ""))
    time.sleep(seconds)
    sent = int(redis.info("stats", "total_commands_processed").replace(":", "")) - before - 1
    for process in processes:
      process.kill()
    redis.server.kill()
    redis.server.wait()
    return sent / seconds / count


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("worker", help="the worker of Tests/RedisTest")
  parser.add_argument("--processes", type=int, default=50)
  parser.add_argument("--seconds", type=float, default=10)
  parser.add_argument("--kills", type=int, default=20)
  options = parser.parse_args()
  fork = multiprocessing.get_context("fork")

  def polling(redis, judge):
    process = fork.Process(target=poll, args=(redis, judge), daemon=True)
    process.start()
    return process

  def headgate(redis, judge, *more):
    return subprocess.Popen([options.worker, "unix:" + redis.path, str(LIMIT), str(int(HELD * 1000)), judge.path, *more],
                            stderr=subprocess.DEVNULL)

  print("%d permits of %d ms, %d processes, %g s each\n" % (LIMIT, HELD * 1000, options.processes, options.seconds))
  print_machine(["redis-server"])
  rows = [measure(name, start, options.processes, options.seconds)
          for name, start in [("headgate", headgate), ("polling", polling)]]
  print()
  print_table(["limiter", "used", "at once", "served", "most/least", "scripts/s", "p50 µs", "p99 µs"], rows)
  print("\nRedis had %s priority" % Redis.priority)
  times = sorted(time / LEASE for time in reuse(headgate, options.processes, options.kills))
  print("from a kill -9 until all permits are in use again, %d times: median %.2f leases, longest %.2f"
        % (len(times), times[len(times) // 2], times[-1]))
  rate = idle(lambda redis, judge: headgate(redis, judge, "1"), options.processes, options.seconds)
  print("an idle program: %.3f commands a second" % rate)


if __name__ == "__main__":
  main()
