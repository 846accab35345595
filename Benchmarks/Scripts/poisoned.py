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

from common import print_machine, write_raw
from nginx import Server


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
  with Server() as server:
    server.change(("    location = /status", "    location = /bad { return 503; }\n    location = /status"))
    good = [server.url("files/%04d" % number) for number in range(options.urls)]
    bad = list(good)
    bad[options.urls // 2] = server.url("bad")

    def seconds(urls, expected):
      out = os.path.join(server.dir, "out")
      shutil.rmtree(out, ignore_errors=True)
      os.mkdir(out)
      start = time.monotonic()
      command = [headgate, "fetch", "-i", "-", "-O", "-q", "--retry", "0"]
      subprocess.run(command, cwd=out, input="\n".join(urls).encode(), stdout=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, timeout=300)
      taken = time.monotonic() - start
      files = len(os.listdir(out))
      if files != expected:
        raise SystemExit("%d files instead of %d" % (files, expected))
      return taken

    seconds(good, options.urls)
    times = []
    for number in range(options.rounds):
      # The order alternates, so that warming up favours neither.
      if number % 2:
        with_it, without = seconds(bad, options.urls - 1), seconds(good, options.urls)
      else:
        without, with_it = seconds(good, options.urls), seconds(bad, options.urls - 1)
      times.append((without, with_it))
      print("without %.3f s, with %.3f s, ratio %.3f" % (without, with_it, with_it / without), flush=True)
  print("\nmedian of the ratios: %.3f" % statistics.median(with_it / without for without, with_it in times))
  write_raw("poisoned", ("nginx",), options, [{"without": without, "with": with_it} for without, with_it in times])


if __name__ == "__main__":
  main()
