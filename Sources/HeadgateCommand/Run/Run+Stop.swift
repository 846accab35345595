import HeadgateCurl
import HeadgateDispatch
import HeadgateThreads

// The end of a run before its time.

extension Run {
  /// The first call stops reading, lets running requests finish and skips what waits. The second call ends everything
  /// at once, and returns true.
  func interrupt() -> Bool {
    let isSecond = stop.withLock { stop in
      stop = stop == .interrupted || stop == .atOnce ? .atOnce : .interrupted
      return stop == .atOnce
    }
    report.count { $0.isInterrupted = true }
    // The run does not end before the remark is written, although what it waits for may.
    pending.enter()
    defer { pending.leave() }
    end(atOnce: isSecond)
    guard !isSecond else { return true }
    // Afterwards, so that nothing starts once it is read.
    let running = dispatcher.snapshot().endPoints.map { ($0.endPoint.description, $0.running) }
    report.remark(InterruptText.of(running) + (isKept ? "; the same command continues this run" : ""))
    return false
  }

  /// Reads no further, and skips what waits.
  ///
  /// - Parameter atOnce: Whether running requests end too. Otherwise they finish.
  func end(atOnce: Bool) {
    stop.withLock { if $0 == .no { $0 = .early } }
    stopSignal.raise()
    if atOnce { dispatcher.dispose() } else { dispatcher.beginShutDown(.graceful) }
    // Last, since requests that waited for a name must not start.
    transport.stopWaitingForNames()
  }

  /// Stops reading at the deadline. Nil without one.
  func endAtDeadline() -> ScheduledTimer? {
    options.deadline.map { deadline in
      TimerThread.shared.schedule(at: started + deadline) { [stopSignal, transport] in
        stopSignal.raise()
        // The deadlines of the waiting URLs have passed.
        transport.stopWaitingForNames()
      }
    }
  }

  /// Takes items one after another. Returns false if the run stops; the other items then count as skipped.
  func takeAll<Item>(_ items: [Item], _ take: (Item) async -> Void) async -> Bool {
    for (place, item) in items.enumerated() {
      guard !isStopping else {
        report.skipped(items.count - place)
        return false
      }
      await take(item)
    }
    return true
  }

  /// Counts the rest of the lists, which will not be sent, so that the summary covers all that can be counted in time.
  func skipRest<Item>(of lists: [InputReader<Item>]) async {
    let limit = Deadline.after(options.countingTime)
    for list in lists {
      report.skipped(await list.countRest { [weak self] in self?.isEndingAtOnce == false && Deadline.now < limit })
    }
  }

  var isStopping: Bool { stopSignal.isRaised }

  /// Whether the run was interrupted twice.
  var isEndingAtOnce: Bool { stop.withLock { $0 == .atOnce } }

  /// Whether the deadline, and nothing before it, ended the run.
  var isOutOfTime: Bool { (timeLeft ?? .seconds(1)) <= .zero && stop.withLock { $0 == .no } }
}
