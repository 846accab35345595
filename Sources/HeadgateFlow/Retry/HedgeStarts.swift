import CHeadgate
import HeadgateThreads

/// The starts of later attempts: each is made once, by its timer or because an earlier attempt has failed.
///
/// Made in a loop: attempts that fail inside their own starts bring one another on with the stack of one.
final class HedgeStarts: Sendable {
  private struct Start: Sendable {
    /// False: it had begun before, by a clock of its own.
    let make: @Sendable () -> Bool
  }

  private struct State {
    var starts: [Int: Start] = [:]
    /// None that waits has a lower number.
    var lowest = 0
    // Failures, and moments, that came before there was a start to bring on.
    var early = 0
    var opened: Set<Int> = []
    /// The threads that are in the loop, and what has come for them inside of a start. By thread, so that a start which
    /// takes its time holds up no other's.
    var makers: [UInt] = []
    var due: [(thread: UInt, start: Start)] = []

    mutating func takeLowest() -> Start? {
      guard !starts.isEmpty else { return nil }
      while true {
        defer { lowest += 1 }
        if let start = starts.removeValue(forKey: lowest) { return start }
      }
    }
  }

  private let state = Locked(State())

  /// Has `start` called when its turn comes. It returns false if the attempt had begun before, by a clock of its own:
  /// then a failure brings on the one behind it.
  func call(at index: Int, _ start: @escaping @Sendable () -> Bool) {
    let isDue = state.withLock { state in
      if state.opened.contains(index) { return true }
      if state.early > 0 {
        state.early -= 1
        return true
      }
      state.starts[index] = Start(make: start)
      state.lowest = min(state.lowest, index)
      return false
    }
    if isDue { make(Start(make: start)) }
  }

  /// The turn of one has come, if it was not made before.
  func open(_ index: Int) {
    let start = state.withLock { state -> Start? in
      state.opened.insert(index)
      return state.starts.removeValue(forKey: index)
    }
    if let start { make(start) }
  }

  /// The turn of the first that waits has come.
  func openNext() {
    while true {
      let start = state.withLock { state -> Start? in
        let start = state.takeLowest()
        if start == nil { state.early += 1 }
        return start
      }
      guard let start, !make(start) else { return }
    }
  }

  /// It is not needed any more.
  func drop(_ index: Int) {
    let start = state.withLock { $0.starts.removeValue(forKey: index) }
    _ = consume start
  }

  /// Makes a start: here, or in the loop that this thread is in. False: it was not needed any more.
  @discardableResult
  private func make(_ start: Start) -> Bool {
    let thread = headgate_thread_number()
    let isInside = state.withLock { state in
      if state.makers.contains(thread) {
        state.due.append((thread, start))
        return true
      }
      state.makers.append(thread)
      return false
    }
    guard !isInside else { return true }
    let isMade = start.make()
    while let next = nextDue(on: thread) { _ = next.make() }
    return isMade
  }

  private func nextDue(on thread: UInt) -> Start? {
    state.withLock { state in
      if let place = state.due.firstIndex(where: { $0.thread == thread }) { return state.due.remove(at: place).start }
      state.makers.removeAll { $0 == thread }
      return nil
    }
  }
}
