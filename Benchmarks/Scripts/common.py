"""The common parts of the benchmark scripts: the peers, the machine's description, medians, tables, and raw figures in
files."""
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import time

BENCHMARKS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TICKS = os.sysconf("SC_CLK_TCK")
VERSION = {"go": ["version"], "nginx": ["-v"], "java": ["-version"]}
# A variable with the path of another build of a peer, such as a newer one.
PEER_VARIABLES = {"curl": "PEER_CURL", "aria2c": "PEER_ARIA2", "wget2": "PEER_WGET2"}
# The folder in which write_raw keeps what was measured, if any.
RAW = os.environ.get("BENCH_RAW")
# No settings of the user, and nothing that hosts said to earlier runs, may change what headgate does here.
os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"] = "/nonexistent"


def peer(name):
  """The program to run as this peer: the path in its variable, or else the one in PATH; None without either."""
  path = shutil.which(os.environ.get(PEER_VARIABLES.get(name, ""), name))
  return path and os.path.abspath(path)


class Others:
  """The processor time that other programs use from now on: figures from a busy machine are misleading."""

  def __init__(self, more=lambda: 0):
    """`more`: the CPU seconds of our own programs that are not ended child processes."""
    self.more = more
    self.began = time.monotonic(), self._machine_busy() - self._own_cpu()

  def print(self):
    began, busy = self.began
    others = (self._machine_busy() - self._own_cpu() - busy) / (time.monotonic() - began)
    print("other programs took %.0f%% of one core meanwhile%s" % (
      100 * others, ": the figures are not to be trusted" if others > 0.1 else ""))

  def _own_cpu(self):
    """The CPU seconds of this script and of the commands that it ran."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return self.more() + sum(use.ru_utime + use.ru_stime for use in uses)

  @staticmethod
  def _machine_busy():
    """The CPU seconds of all programs since the machine started, interrupts included: they count as the program's."""
    with open("/proc/stat") as file:
      user, nice, system, _, _, irq, softirq = (int(field) for field in file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / TICKS


def first_line(*command):
  try:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return (done.stdout.splitlines() or ["?"])[0].strip()
  except OSError:
    return "not found"


def write_lists(folder, name, urls):
  """Writes a list of (URL, file name) for headgate, aria2c and wget2, and for curl: the paths, by LIST and CURL."""
  files = {"LIST": os.path.join(folder, name + ".list"), "CURL": os.path.join(folder, name + ".curl")}
  with open(files["LIST"], "w") as lines, open(files["CURL"], "w") as curl_lines:
    for url, target in urls:
      lines.write(url + "\n")
      curl_lines.write('url = "%s"\noutput = "%s"\n' % (url, target))
  return files


def machine(programs):
  """The processor and the system, the load, and the versions of the programs."""
  listing = ""
  try:
    listing = subprocess.run(["lscpu"], stdout=subprocess.PIPE, text=True, env=dict(os.environ, LC_ALL="C")).stdout
  except OSError:
    pass
  model = next((line.split(":", 1)[1].strip() for line in listing.splitlines() if line.startswith("Model name")), "?")
  seen = {"machine": "%s, %d cores, %s %s" % (model, os.cpu_count(), platform.system(), platform.release()),
          "load": "%.2f %.2f %.2f" % os.getloadavg()}
  for program in programs:
    line = first_line(peer(program) or program, *VERSION.get(program, ["--version"]))
    seen[os.path.basename(program)] = line.split(" (x86_64")[0].split(" (aarch64")[0]  # curl lists its libraries too
  return seen


def print_machine(programs):
  for name, value in machine(programs).items():
    print("%-8s %s" % (name, value))
  print(flush=True)


def write_raw(name, programs, options, figures):
  """Writes figures as NAME.json to the folder that BENCH_RAW names, with the machine and the options."""
  if RAW:
    os.makedirs(RAW, exist_ok=True)
    with open(os.path.join(RAW, name + ".json"), "w") as file:
      json.dump({"at": time.strftime("%FT%TZ", time.gmtime()), **machine(programs), "options": vars(options),
                 "figures": figures}, file, indent=1)


def median(values):
  return statistics.median(values)


def ratio(rounds, name, base, value):
  """The median of value(name's run) / value(base's run) over the rounds in which both ran, as text."""
  ratios = [value(r[name]) / value(r[base]) for r in rounds if r.get(name) and r.get(base)]
  return "%.2f" % median(ratios) if ratios else "-"


def print_table(head, rows):
  """A Markdown table: the first column is aligned left, the others right."""
  table = [head] + rows
  widths = [max(len(row[column]) for row in table) for column in range(len(head))]
  lines = ["| " + " | ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                             for i, (cell, w) in enumerate(zip(row, widths))) + " |" for row in table]
  lines.insert(1, "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|")
  print("\n".join(lines))
