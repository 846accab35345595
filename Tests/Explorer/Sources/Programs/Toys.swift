import HeadgateThreads
import Synchronization

// Most of these have a known fault: they test the explorer itself.
extension Program {
  /// Two threads add with a load and a store.
  public static func lostUpdate() -> Program {
    let word = Word()
    let body: @Sendable () -> Void = {
      word.cell.store(word.cell.load(ordering: .relaxed) + 1, ordering: .relaxed)
    }
    return Program([body, body]) { word.cell.load(ordering: .relaxed) == 2 ? nil : "a count was lost" }
  }

  /// Three threads add with an atomic, and under the lock.
  public static func noLostUpdate() -> Program {
    let (word, locked) = (Word(), LockedBox(0))
    let body: @Sendable () -> Void = {
      word.cell.add(1, ordering: .relaxed)
      locked.withLock { $0 += 1 }
    }
    return Program([body, body, body]) {
      word.cell.load(ordering: .relaxed) == 3 && locked.withLock({ $0 }) == 3 ? nil : "a count was lost"
    }
  }

  /// A wake-up between the check and the sleep.
  public static func lostWakeUp(rechecks: Bool) -> Program {
    let (ready, asleep, parker) = (Word(), Word(), Parker())
    return Program([
      {
        if ready.cell.load(ordering: .acquiring) == 1 { return }
        asleep.cell.store(1, ordering: .releasing)
        if rechecks, ready.cell.load(ordering: .acquiring) == 1 { return }
        _ = parker.park()
      },
      {
        ready.cell.store(1, ordering: .releasing)
        if asleep.cell.load(ordering: .acquiring) == 1 { parker.unpark() }
      },
    ])
  }

  /// One thread passes a plain value to another through a word, with sufficient or insufficient memory orders.
  public static func handover(isOrdered: Bool) -> Program {
    let (word, plain) = (Word(), Plain())
    return Program([
      {
        plain.value = 1
        if isOrdered { word.cell.store(1, ordering: .releasing) } else { word.cell.store(1, ordering: .relaxed) }
      },
      {
        if word.cell.load(ordering: .acquiring) == 1 { plain.value += 1 }
      },
    ])
  }

  /// Two threads change a plain value, both under the lock or one without.
  public static func plainValue(isLocked: Bool) -> Program {
    let (lock, plain) = (LockedBox(()), Plain())
    return Program([
      { lock.withLock { _ in plain.value += 1 } },
      { if isLocked { lock.withLock { _ in plain.value += 1 } } else { plain.value += 1 } },
    ])
  }

  /// A thread polls twice for a change by another thread, then gives up.
  public static func spin(_ note: @escaping @Sendable (Bool) -> Void) -> Program {
    let word = Word()
    return Program([
      {
        for _ in 0..<2 {
          if word.cell.load(ordering: .relaxed) == 1 { return note(true) }
          spinPause()
        }
        note(false)
      },
      { word.cell.store(1, ordering: .relaxed) },
    ])
  }
}

/// A word that closures can share.
final class Word: Sendable {
  let cell = AtomicCell<Int>(0)
}

/// Plain memory that closures can share.
// Unchecked: the explorer is to decide whether it is used correctly.
final class Plain: @unchecked Sendable {
  var value = 0
}
