"""An nginx on loopback, with its own folder and files, for the benchmark scripts."""
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from common import TICKS, Others

CONFIGURATION = """%(user)s
worker_processes 1;
pid %(dir)s/nginx.pid;
error_log %(dir)s/error.log;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  keepalive_requests 100000000;
  keepalive_timeout 300s;
  default_type application/octet-stream;
  client_body_temp_path %(dir)s/temp;
  proxy_temp_path %(dir)s/temp;
  fastcgi_temp_path %(dir)s/temp;
  uwsgi_temp_path %(dir)s/temp;
  scgi_temp_path %(dir)s/temp;
  server {
    listen 127.0.0.1:%(port)d;
    root %(dir)s/root;
    location = /status { stub_status; }
  }
}
"""


class Server:
  """nginx on a free port with a temporary folder of its own, for a `with` statement.

  It serves /small (100 bytes), /big (1 GB, sparse, with a few marks in it), /files/NNNN (3,000 files of 1 to 4 KB) and
  /status (nginx's own counts).
  """

  def __init__(self, folder=None):
    self.folder = folder

  def __enter__(self):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that __exit__ runs
    self.dir = tempfile.mkdtemp(prefix="headgate-bench-", dir=self.folder)
    with socket.socket() as probe:
      probe.bind(("127.0.0.1", 0))
      self.port = probe.getsockname()[1]
    try:
      self._make_files()
      user = "user root;" if os.getuid() == 0 else ""
      with open(self._configuration, "w") as file:
        file.write(CONFIGURATION % {"user": user, "dir": self.dir, "port": self.port})
      self._nginx()
    except BaseException:
      self.__exit__()
      raise
    self.others = Others(self.cpu)
    return self

  def __exit__(self, *_):
    try:
      with open(os.path.join(self.dir, "nginx.pid")) as file:
        master = int(file.read())
      os.kill(master, signal.SIGTERM)
      end = time.monotonic() + 5
      while os.path.exists("/proc/%d" % master):
        if time.monotonic() > end:
          raise SystemExit("nginx %d does not end" % master)
        time.sleep(0.05)
    except (OSError, ValueError):
      pass  # it did not start, or has ended
    shutil.rmtree(self.dir, ignore_errors=True)

  @property
  def _configuration(self):
    return os.path.join(self.dir, "nginx.conf")

  def _nginx(self, *more):
    log = os.path.join(self.dir, "error.log")
    subprocess.run(["nginx", "-p", self.dir, "-c", self._configuration, "-e", log, *more], check=True)

  def _make_files(self):
    os.makedirs(self.path("files"))
    os.mkdir(os.path.join(self.dir, "temp"))
    dice = random.Random(1)
    with open(self.path("small"), "wb") as small:
      small.write(b"x" * 99 + b"\n")
    with open(self.path("big"), "wb") as big:
      big.truncate(1 << 30)
      for mark in range(64):  # so that a piece in the wrong place changes the checksum
        big.seek((mark << 24) + dice.randrange(1 << 23))
        big.write(dice.randbytes(64))
    for number in range(3000):
      with open(self.path("files/%04d" % number), "wb") as file:
        file.write(dice.randbytes(dice.randint(1024, 4096)))

  def change(self, *replacements):
    """Replaces texts of nginx's configuration, each given as (old, new), and loads it."""
    with open(self._configuration) as file:
      text = file.read()
    for old, new in replacements:
      assert old in text, old
      text = text.replace(old, new)
    with open(self._configuration, "w") as file:
      file.write(text)
    self._nginx("-s", "reload")
    time.sleep(1)

  def url(self, path):
    return "http://127.0.0.1:%d/%s" % (self.port, path)

  def path(self, name):
    return os.path.join(self.dir, "root", name)

  def counts(self):
    """The connections and requests that the server has seen, including this query."""
    with urllib.request.urlopen(self.url("status")) as status:
      accepted, _, requests = status.read().split(b"\n")[2].split()
    return int(accepted), int(requests)

  def cpu(self):
    """The CPU seconds of nginx's worker."""
    with open(os.path.join(self.dir, "nginx.pid")) as file:
      master = file.read().strip()
    workers = []
    while not workers:  # the master process answers before it has started its worker
      with open("/proc/%s/task/%s/children" % (master, master)) as file:
        workers = file.read().split()
    worker = workers[0]
    with open("/proc/%s/stat" % worker) as file:
      fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS

  def print_others(self):
    self.others.print()
