#!/usr/bin/env python3
"""Many names and a slow resolver: the number of threads, the queries for each name, and the time.

In a separate network namespace, one server resolves names after a delay, and reports that some of them don't exist;
another one answers HTTP on port 80. headgate fetches one or several URLs of each name.

  sudo Scripts/names.py --headgate ../.build/release/headgate
  sudo Scripts/names.py --headgate … --names 20000 --delay 200 --absent 30 --urls 1
"""
import argparse
import collections
import ctypes
import heapq
import os
import selectors
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from common import print_machine, print_table

NAMESPACE = "headgate-names"
CLONE_NEWNET = 0x40000000


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--headgate", metavar="BINARY", required=True)
  parser.add_argument("--names", type=int, default=20_000)
  parser.add_argument("--urls", type=int, default=1, help="of each name")
  parser.add_argument("--delay", type=int, default=200, help="milliseconds of the resolver")
  parser.add_argument("--absent", type=int, default=30, help="percent of the names that don't exist")
  parser.add_argument("more", nargs="*", help="further arguments for headgate fetch")
  return parser.parse_args()


class Resolver(threading.Thread):
  """Answers A with 127.0.0.1, AAAA with nothing, after a delay; counts the queries."""

  def __init__(self, options, server):
    super().__init__(daemon=True)
    self.socket = server
    self.delay = options.delay / 1000
    self.absent = options.absent
    self.asked = collections.Counter()

  def run(self):
    due = []
    self.socket.settimeout(0.02)
    while True:
      try:
        question, peer = self.socket.recvfrom(2048)
        heapq.heappush(due, (time.monotonic() + self.delay, peer, self.answer(question)))
      except (socket.timeout, ConnectionError):
        pass
      if due:
        self.socket.settimeout(max(0.0005, min(0.02, due[0][0] - time.monotonic())))
      while due and due[0][0] <= time.monotonic():
        _, peer, answer = heapq.heappop(due)
        self.socket.sendto(answer, peer)

  def answer(self, question):
    labels, place = [], 12
    while question[place]:
      labels.append(question[place + 1:place + 1 + question[place]])
      place += 1 + question[place]
    end = place + 5
    kind = struct.unpack(">H", question[place + 1:place + 3])[0]
    name = b".".join(labels).decode(errors="replace")
    is_ours = name.endswith(".test") and name[1:-5].isdigit()
    if is_ours:
      self.asked[name, kind] += 1
    exists = is_ours and int(name[1:-5]) % 100 >= self.absent
    has_address = exists and kind == 1
    head = question[:2] + struct.pack(">HHHHH", 0x8580 if exists else 0x8583, 1, has_address, 0, 0)
    record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + bytes([127, 0, 0, 1]) if has_address else b""
    return head + question[12:end] + record


class Web(threading.Thread):
  """Answers each request with two bytes, and closes."""

  def __init__(self, server):
    super().__init__(daemon=True)
    self.server = server
    self.requests = 0

  def run(self):
    selector = selectors.DefaultSelector()
    self.server.setblocking(False)
    selector.register(self.server, selectors.EVENT_READ)
    while True:
      for key, _ in selector.select():
        if key.fileobj is self.server:
          try:
            while True:
              client, _ = self.server.accept()
              client.setblocking(False)
              selector.register(client, selectors.EVENT_READ)
          except BlockingIOError:
            continue
        client = key.fileobj
        try:
          data = client.recv(65536)
          if b"\r\n\r\n" in data:
            self.requests += 1
            client.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        except OSError:
          pass
        selector.unregister(client)
        client.close()


def sockets():
  """A socket for names and one for HTTP, both inside the namespace."""
  made = []

  def make():
    with open("/run/netns/" + NAMESPACE) as file:
      if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    names.bind(("127.0.0.1", 53))
    web = socket.socket()
    web.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    web.bind(("127.0.0.1", 80))
    web.listen(4096)
    made.extend((names, web))

  # Only this thread enters the namespace; a socket stays in the one where it was created.
  thread = threading.Thread(target=make)
  thread.start()
  thread.join()
  return made


def run(options, folder):
  names, web = sockets()
  resolver, server = Resolver(options, names), Web(web)
  resolver.start()
  server.start()
  path = os.path.join(folder, "list")
  with open(path, "w") as file:
    for url in range(options.urls):
      file.writelines("http://n%d.test/%d-%d\n" % (name, name, url) for name in range(options.names))
  start = time.monotonic()
  process = subprocess.Popen(
    ["ip", "netns", "exec", NAMESPACE, options.headgate, "fetch", "-i", path, "-P", os.path.join(folder, "out"),
     "--log", os.path.join(folder, "log"), *options.more], stderr=open(os.path.join(folder, "said"), "w"))
  threads = samples = 0
  while process.poll() is None:
    try:
      with open("/proc/%d/status" % process.pid) as file:
        values = dict(line.split(":", 1) for line in file)
      if values["Name"].strip() == os.path.basename(options.headgate)[:15]:
        threads = max(threads, int(values["Threads"]))
        samples += 1
    except (OSError, KeyError, ValueError):
      pass
    time.sleep(0.01)
  seconds = time.monotonic() - start
  with open(os.path.join(folder, "said")) as file:
    print(file.read().splitlines()[-1])
  twice = sum(1 for count in resolver.asked.values() if count > 1)
  exist = sum(1 for name in range(options.names) if name % 100 >= options.absent)
  print_table(
    ["names", "of them exist", "files", "most threads", "samples", "questions", "asked more than once", "seconds",
     "names/24 x delay", "exit"],
    [[str(options.names), str(exist), str(len(os.listdir(os.path.join(folder, "out")))), str(threads), str(samples),
      str(sum(resolver.asked.values())), str(twice), "%.1f" % seconds,
      "%.1f" % (options.names / 24 * options.delay / 1000), str(process.returncode)]])


def main():
  options = parse()
  options.headgate = os.path.abspath(options.headgate)
  if os.geteuid() != 0:
    sys.exit("a network namespace needs root")
  print_machine(())
  etc = "/etc/netns/" + NAMESPACE
  subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
  try:
    subprocess.run(["ip", "-n", NAMESPACE, "link", "set", "lo", "up"], check=True)
    os.makedirs(etc, exist_ok=True)
    with open(etc + "/resolv.conf", "w") as file:
      file.write("nameserver 127.0.0.1\noptions timeout:5 attempts:1\n")
    with open(etc + "/nsswitch.conf", "w") as file:
      file.write("hosts: dns\n")
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as folder:
      run(options, folder)
  finally:
    subprocess.run(["ip", "netns", "delete", NAMESPACE])
    shutil.rmtree(etc, ignore_errors=True)


if __name__ == "__main__":
  main()
