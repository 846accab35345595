"""The definitions for threads.py: the programs, the rows, and the ratios to the peers that Headgate should reach."""
import os
import shutil

from common import BENCHMARKS

PARTS = {"queues": "queue", "pools": "pool", "timers": "timers", "threads": "thread"}
MINE = os.path.join(BENCHMARKS, "Programs/.build/release")
PEERS_BUILT = os.path.join(BENCHMARKS, "Peers/.build")
SWIFT = os.path.join(BENCHMARKS, "Peers/Swift/.build/release")
NETTY = "/usr/share/java/netty-common.jar"
JAVA = ["java", "-Xms1g", "-cp", os.path.join(PEERS_BUILT, "java") + ":" + NETTY]


class Program:
  """The command of a peer, before the arguments of a row; one command, or one for each part."""

  def __init__(self, command, needs=None):
    self.commands, self.needs = command, needs

  def command(self, part):
    return self.commands[part] if isinstance(self.commands, dict) else self.commands

  def missing(self, part):
    files = [self.command(part)[0]] + (self.needs or [])
    return next((file for file in files if not (shutil.which(file) or os.path.exists(file))), None)


def built(name):
  return os.path.join(PEERS_BUILT, name)


RUST = Program([built("rust/release/rust-threads")])
GO = Program([built("go-threads")])
JVM = Program(JAVA + ["Peers"], [built("java/Peers.class")])
SWIFT_TIMERS = Program([os.path.join(SWIFT, "timers")])
# In the order of the columns.
PEERS = {
  "headgate": Program({
    "queues": [os.path.join(MINE, "Queues")], "pools": [os.path.join(MINE, "Pools")],
    "timers": [os.path.join(MINE, "Timers")], "threads": [os.path.join(MINE, "ThreadCosts")],
  }),
  "headgate-submit": Program([os.path.join(MINE, "Pools")]),
  "headgate-perform": Program([os.path.join(MINE, "Timers")]),
  "crossbeam": RUST, "flume": RUST, "go": GO, "array": JVM, "linked": JVM, "synchronous": JVM,
  "futex in C": Program([built("c-handoff")]),
  "executor": JVM, "executor-submit": JVM, "forkjoin": JVM, "forkjoin-submit": JVM, "rayon": RUST, "threadpool": RUST,
  "go-channel": GO, "go-goroutines": GO,
  "AsyncChannel": Program([os.path.join(SWIFT, "queues"), "channel"]),
  "AsyncStream": Program([os.path.join(SWIFT, "queues"), "stream"]),
  "nio": Program([os.path.join(SWIFT, "pools")]),
  "dispatch": Program({"pools": [os.path.join(SWIFT, "pools")], "timers": [os.path.join(SWIFT, "timers")]}),
  "mutex in C": Program([built("c-pool")]),
  "netty": Program(JAVA + ["Timers"], [built("java/Timers.class"), NETTY]),
  "dispatch-strict": SWIFT_TIMERS, "task": SWIFT_TIMERS, "task-strict": SWIFT_TIMERS,
  "pthread in C": Program([built("c-threads")]),
}


class Figure:
  """One of the values that a program prints."""

  def __init__(self, name, title, unit=""):
    self.name, self.title, self.unit = name, title, unit


RATE = Figure("rate", "rate", "million operations a second")
USE = [Figure("cpu_each", "processor seconds a million operations"),
       Figure("switches_each", "context switches a thousand operations")]
TIMER_RATES = [Figure("schedule", "schedule", "million a second"), Figure("cancel", "cancel", "million a second"),
               Figure("bytes", "memory of a waiting timer", "bytes")]
LATENESS = [Figure("median_us", "lateness, median", "us"), Figure("p99_us", "lateness, 99th percentile", "us")]
THREAD_COSTS = [
  Figure("spawn_join_us", "spawn and join", "us"),
  Figure("start_mean_us", "from the call to the first instruction, mean", "us"),
  Figure("start_median_us", "from the call to the first instruction, median", "us"),
  Figure("idle_bytes", "resident memory of an idle thread", "bytes"),
  Figure("stack_bytes", "stack where none is asked for", "bytes"),
]


class Row:
  """One shape under one condition, and the arguments that each program gets for it."""

  def __init__(self, part, name, programs, figures, condition=""):
    self.part, self.name, self.programs, self.figures, self.condition = part, name, programs, figures, condition
    self.key = name + (", " + condition if condition else "")


CAPACITIES = {"rendezvous": "0", "bounded 1": "1", "bounded 1024": "1024", "unbounded": "unbounded"}
ELEMENTS = {"8": "8 bytes", "64": "64 bytes", "new": "new objects", "shared": "shared objects"}
ONE, BUSY = "one processor", "beside a busy process"


def queue_name(queue, threads, element="8"):
  return "%s %d:%d %s" % (queue, threads, threads, ELEMENTS[element])


def queue_rows(seconds, full):
  def programs(shape, capacity, threads, element, narrow, condition):
    rest = [shape, capacity, str(threads), element, str(seconds)]
    peers = {"headgate": rest, "crossbeam": ["queues", "crossbeam"] + rest}
    if not narrow:
      peers["flume"] = ["queues", "flume"] + rest
    peers["go"] = ["queues", "go"] + rest
    if capacity == "0":
      if not narrow:
        peers["synchronous"] = ["queues", "synchronous"] + rest
    elif not condition:
      peers["array"] = ["queues", "array"] + rest
      if not narrow:
        peers["linked"] = ["queues", "linked"] + rest
    if condition == ONE and threads == 1 and capacity in ("0", "1"):
      peers["futex in C"] = [shape, str(seconds)]
    return peers

  for condition in ("", ONE, BUSY):
    for queue, capacity in CAPACITIES.items():
      for threads in (1, 2):
        for element in ELEMENTS:
          plain = element == "8" and not (condition and threads == 2)
          if plain or full or (not condition and capacity not in ("0", "1")):
            narrow = bool(condition) or element != "8"
            yield Row("queues", queue_name(queue, threads, element),
                      programs("stream", capacity, threads, element, narrow and not full, condition), [RATE] + USE,
                      condition)
    if not condition:
      yield from task_rows(seconds)
    yield Row("queues", "ping-pong", programs("pingpong", "1", 1, "8", bool(condition), condition), [RATE] + USE,
              condition)


def task_rows(seconds):
  for queue, capacity in CAPACITIES.items():
    peer = "AsyncStream" if capacity == "unbounded" else "AsyncChannel"
    yield Row("queues", "tasks, " + queue, {
      "headgate": ["tasks", capacity, "1", "8", str(seconds)], peer: [capacity, str(seconds)],
    }, [RATE] + USE)


def pool_rows(seconds):
  size, text = "2", str(seconds)
  programs = {
    "headgate": ["execute", size, text],
    "headgate-submit": ["submit", size, text],
    "executor": ["pools", "executor", "execute", size, text],
    "executor-submit": ["pools", "executor", "submit", size, text],
    "forkjoin": ["pools", "forkjoin", "execute", size, text],
    "forkjoin-submit": ["pools", "forkjoin", "submit", size, text],
    "rayon": ["pools", "rayon", size, text],
    "threadpool": ["pools", "threadpool", size, text],
    "go-channel": ["pools", "channel", size, text],
    "go-goroutines": ["pools", "goroutines", size, text],
    "nio": ["nio", size, text],
    "dispatch": ["dispatch", size, text],
    "mutex in C": [size, text],
  }
  few = {peer: programs[peer] for peer in ("headgate", "rayon", "threadpool", "go-channel", "nio")}
  yield Row("pools", "pool of 2, empty tasks", programs, [RATE] + USE)
  yield Row("pools", "pool of 2, empty tasks", few, [RATE] + USE, ONE)
  yield Row("pools", "pool of 2, empty tasks", few, [RATE] + USE, BUSY)


MILLION = "1000000"
LATE = "1 ms timers"
LATE_MILLION = "1 ms timers, a million pending"
PENDING = "a million pending"


def timer_rows(seconds):
  rates = ["rates", MILLION, str(max(seconds, 0.4))]
  yield Row("timers", PENDING, {
    "headgate": ["schedule"] + rates, "headgate-perform": ["perform"] + rates, "netty": rates,
    "go": ["timers"] + rates, "dispatch": ["dispatch"] + rates,
  }, TIMER_RATES + USE)
  late = ["lateness", "0", "500"]
  yield Row("timers", LATE, {
    "headgate": ["schedule"] + late, "headgate-perform": ["perform"] + late, "go": ["timers"] + late,
    "dispatch": ["dispatch"] + late,
    "dispatch-strict": ["dispatch-strict"] + late, "task": ["task"] + late, "task-strict": ["task-strict"] + late,
    "netty": late,
  }, LATENESS)
  late = ["lateness", MILLION, "500"]
  yield Row("timers", LATE_MILLION, {
    "headgate": ["schedule"] + late, "headgate-perform": ["perform"] + late, "go": ["timers"] + late,
    "dispatch": ["dispatch"] + late, "netty": late,
  }, LATENESS)


def thread_rows():
  arguments = ["5000", "200"]
  yield Row("threads", "a thread", {"headgate": arguments, "pthread in C": arguments}, THREAD_COSTS)


def rows(seconds, full):
  return [*queue_rows(seconds, full), *pool_rows(seconds), *timer_rows(seconds), *thread_rows()]


class AtLeast:
  """A ratio that should not be lower."""

  def __init__(self, value, aim=False):
    self.value, self.aim = value, aim

  def met(self, ratio):
    return ratio >= self.value

  def __str__(self):
    return ">= %g" % self.value


class AtMost(AtLeast):
  """A ratio that should not be higher."""

  def met(self, ratio):
    return ratio <= self.value

  def __str__(self):
    return "<= %g" % self.value


class Gate:
  """The target for a figure: relative to the best of `bases` in the same row, or absolute if there are none."""

  def __init__(self, key, bases, limit, figure="rate", peer="headgate"):
    self.key, self.bases, self.limit, self.figure, self.peer = key, bases, limit, figure, peer


def gates():
  for queue in ("bounded 1024", "unbounded"):
    for threads in (1, 2):
      for element in ELEMENTS:
        key = queue_name(queue, threads, element)
        yield Gate(key, ["crossbeam"], AtLeast(1.0))
        yield Gate(key, ["go"], AtLeast(1.5))
        yield Gate(key, ["array"], AtLeast(2.0))
    yield Gate(queue_name(queue, 1) + ", " + ONE, ["go"], AtLeast(0.8))
  for queue in ("rendezvous", "bounded 1"):
    yield Gate(queue_name(queue, 1), ["crossbeam", "go"], AtLeast(1.0))
  yield Gate("ping-pong", ["crossbeam"], AtLeast(1.0))
  for queue, capacity in CAPACITIES.items():
    yield Gate("tasks, " + queue, ["AsyncStream" if capacity == "unbounded" else "AsyncChannel"], AtLeast(1.0))
  for key in (queue_name("rendezvous", 1), queue_name("bounded 1", 1), "ping-pong"):
    yield Gate(key + ", " + ONE, ["crossbeam"], AtLeast(0.9))
    yield Gate(key + ", " + ONE, ["futex in C"], AtLeast(0.9))

  pool = "pool of 2, empty tasks"
  for base in ("executor", "rayon", "threadpool"):
    yield Gate(pool, [base], AtLeast(1.0))
  for base in ("nio", "dispatch"):
    yield Gate(pool, [base], AtLeast(5.0))
  for base in ("go-channel", "forkjoin"):
    yield Gate(pool, [base], AtLeast(1.0, aim=True))
  yield Gate(pool, ["headgate"], AtLeast(0.4), peer="headgate-submit")

  for peer in ("headgate", "headgate-perform"):
    yield Gate(PENDING, ["netty"], AtLeast(0.7), "schedule", peer)
    yield Gate(PENDING, ["netty"], AtLeast(1.0), "cancel", peer)
    yield Gate(PENDING, ["go"], AtLeast(0.5), "cancel", peer)
    yield Gate(PENDING, [], AtMost(100), "bytes", peer)
  for figure in ("median_us", "p99_us"):
    yield Gate(LATE, ["go"], AtMost(1.0), figure)
    yield Gate(LATE, ["dispatch"], AtMost(0.5), figure)
    yield Gate(LATE, ["task"], AtMost(0.5), figure)
    yield Gate(LATE_MILLION, ["go"], AtMost(1.0), figure)
  yield Gate("a thread", ["pthread in C"], AtMost(1.1), "spawn_join_us")


GATES = list(gates())
