#!/usr/bin/env python3
"""One URL among many that always answers 503: how much longer the list takes than without it.

nginx on loopback; each round fetches the list without that URL and with it, in turn, with no retries. Prints the median
of the rounds' ratios, which should be at most 1.1. A client that pauses the whole host for a single 503 has a
ratio far above.

  Scripts/poisoned.py --headgate ../.build/release/headgate
  Scripts/poisoned.py --headgate … --urls 1000 --rounds 11
"""
import argparse
import os
import shutil
import statistics
import subprocess
import time

from common import Server, print_machine


class PoisonedServer(Server):
  """An nginx with one location that always answers 503."""

  def __enter__(self):
    super().__enter__()
    path = os.path.join(self.dir, "nginx.conf")
    with open(path) as file:
      text = file.read()
    text = text.replace("    location = /status", "    location = /bad { return 503; }\n    location = /status")
    with open(path, "w") as file:
      file.write(text)
    subprocess.run(["nginx", "-p", self.dir, "-c", path, "-e", os.path.join(self.dir, "error.log"), "-s", "reload"],
                   check=True)
    time.sleep(1)
    return self


def parse():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--headgate", metavar="BINARY", required=True)
  parser.add_argument("--urls", type=int, default=1000)
  parser.add_argument("--rounds", type=int, default=11)
  return parser.parse_args()


def main():
  options = parse()
  headgate = os.path.abspath(options.headgate)
  print_machine(("nginx",))
  with PoisonedServer() as server:
    good = [server.url("files/%04d" % number) for number in range(options.urls)]
    bad = list(good)
    bad[options.urls // 2] = server.url("bad")

    def seconds(urls, expected):
      out = os.path.join(server.dir, "out")
      shutil.rmtree(out, ignore_errors=True)
      os.mkdir(out)
      start = time.monotonic()
      subprocess.run([headgate, "fetch", "-i", "-", "-O", "-q"], cwd=out, input="\n".join(urls).encode(),
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
      taken = time.monotonic() - start
      files = len(os.listdir(out))
      if files != expected:
        raise SystemExit("%d files instead of %d" % (files, expected))
      return taken

    seconds(good, options.urls)
    ratios = []
    for number in range(options.rounds):
      # The order alternates, so that warming up favours neither.
      if number % 2:
        with_it, without = seconds(bad, options.urls - 1), seconds(good, options.urls)
      else:
        without, with_it = seconds(good, options.urls), seconds(bad, options.urls - 1)
      ratios.append(with_it / without)
      print("without %.3f s, with %.3f s, ratio %.3f" % (without, with_it, ratios[-1]), flush=True)
    print("\nmedian of the ratios: %.3f" % statistics.median(ratios))


if __name__ == "__main__":
  main()
