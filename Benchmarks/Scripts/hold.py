#!/usr/bin/env python3
"""How soon a permit of `headgate hold` is granted again after the command that holds it was killed with SIGKILL.

  Scripts/hold.py ../.build/release/headgate
"""
import argparse
import subprocess
import tempfile
import time

from common import median, print_machine


def hold(headgate, folder):
  """A program that prints `granted` when it holds the only permit."""
  return subprocess.Popen([headgate, "hold", "127.0.0.1:1", "--per-host", "1", "--folder", folder], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("headgate")
  parser.add_argument("--rounds", type=int, default=100)
  options = parser.parse_args()
  print_machine([])
  times = []
  with tempfile.TemporaryDirectory(prefix="hg-") as folder:
    holder = hold(options.headgate, folder)
    holder.stdout.readline()
    for _ in range(options.rounds):
      waiting = hold(options.headgate, folder)
      while b"waiting: 1" not in subprocess.check_output([options.headgate, "status", "unix:" + folder]):
        time.sleep(0.01)
      begin = time.monotonic()
      holder.kill()
      waiting.stdout.readline()
      times.append((time.monotonic() - begin) * 1000)
      holder.wait()
      holder = waiting
    holder.kill()
    holder.wait()
  print("from a kill -9 until the permit is granted again, %d times: median %.1f ms, longest %.1f ms"
        % (len(times), median(times), max(times)))


if __name__ == "__main__":
  main()
