import HeadgateDispatch
import HeadgateThreads

/// Looks up names for all loops of a transport, on a few threads of its own. libcurl's resolver would start a thread
/// for each look-up, even for several of one name.
///
/// The threads start when needed and end when idle. A look-up that the resolver never answers keeps its thread, but its
/// waiters may leave at any time.
final class NameService: Sendable {
  /// The maximum number of concurrent look-ups. Together with the other threads of the command, fewer than forty.
  static let atOnce = 24

  /// A receiver of an answer.
  private enum Waiter: Sendable {
    case loop(CurlLoop)
    case task(Int)
  }

  /// A waiting task.
  private struct Waiting {
    let name: String
    let limit: Duration?
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var table = NameTable<Waiter>(atOnce: NameService.atOnce)
    var tasks: [Int: Waiting] = [:]
    var nextTask = 0
    var keepsWaiting = true
    /// The look-ups under way whose first waiter has a limit, by name.
    var limited: [String: (number: UInt64, isLate: Bool)] = [:]
    var lastLookUp: UInt64 = 0

    /// Removes and returns the tasks that wait for a name.
    mutating func take(waitingFor name: String) -> [Waiting] {
      let ids = tasks.filter { $0.value.name == name }.map(\.key)
      return ids.compactMap { tasks.removeValue(forKey: $0) }
    }
  }

  private let crew = LaneCrew(name: "headgate-names", size: NameService.atOnce)
  private let state = Locked(State())
  private let lookUp: @Sendable (String) -> NameAnswer

  /// - Parameter lookUp: Queries the resolver. Blocks.
  init(lookUp: @escaping @Sendable (String) -> NameAnswer = NameLookup.answer) { self.lookUp = lookUp }

  /// The answer for a name, if it is known.
  func answer(for name: String) -> NameAnswer? {
    let now = Deadline.now
    return state.withLock { $0.table.answer(for: name, at: now) }
  }

  /// The answer for a name if it is known. Otherwise the loop is notified when it is.
  func ask(_ name: String, for loop: CurlLoop) -> NameAnswer? {
    let now = Deadline.now
    let reply = state.withLock { $0.table.ask(name, .loop(loop), at: now) }
    if case .begins = reply { begin(name) }
    if case .known(let answer) = reply { return answer }
    return nil
  }

  /// Waits until the answer for a name is known, or until ``stopWaiting()``.
  ///
  /// - Parameter limit: The maximum time of the look-up, not counting its wait for a thread. If several tasks wait for
  ///   one name, the limit of the first applies; a task that arrives after that has its own limit.
  /// - Returns: False if that time has passed.
  func waitForAnswer(_ name: String, within limit: Duration? = nil) async -> Bool {
    await withContinuation { (continuation: CheckedContinuation<Bool, Never>) in
      let now = Deadline.now
      var lateTask: (number: Int, limit: Duration)?
      let (begins, waits) = state.withLock { state -> (Bool, Bool) in
        guard state.keepsWaiting else { return (false, false) }
        let task = state.nextTask
        let waiting = Waiting(name: name, limit: limit, continuation: continuation)
        switch state.table.ask(name, .task(task), at: now) {
        case .known: return (false, false)
        case .waits:
          state.tasks[task] = waiting
          state.nextTask += 1
          // The timer of the look-up has already fired, so this task has its own.
          if let limit, state.limited[name]?.isLate == true { lateTask = (task, limit) }
          return (false, true)
        case .begins:
          state.tasks[task] = waiting
          state.nextTask += 1
          return (true, true)
        }
      }
      if !waits { continuation.resume(returning: true) }
      if begins { begin(name) }
      guard let lateTask else { return }
      _ = TimerThread.deadlines.schedule(at: now + lateTask.limit) { [weak self, number = lateTask.number] in
        self?.state.withLock { $0.tasks.removeValue(forKey: number) }?.continuation.resume(returning: false)
      }
    }
  }

  /// Ends the waits of all tasks. Later waits end at once.
  func stopWaiting() {
    let tasks = state.withLock { state in
      state.keepsWaiting = false
      defer { state.tasks = [:] }
      return Array(state.tasks.values)
    }
    for task in tasks { task.continuation.resume(returning: true) }
  }

  private func begin(_ name: String) {
    SerialLane(on: crew).run { [self] in
      var next: String? = name
      while let name = next {
        let timer = limit(of: name).map { (number, limit) in
          TimerThread.deadlines.schedule(at: .now + limit) { [weak self] in self?.timedOut(name, number) }
        }
        let answer = lookUp(name)
        timer?.cancel()
        next = end(name, answer)
      }
    }
  }

  /// The number and the limit of a look-up that begins; nil without a limit.
  private func limit(of name: String) -> (number: UInt64, limit: Duration)? {
    state.withLock { state in
      guard case .task(let task)? = state.table.firstWaiter(for: name), let limit = state.tasks[task]?.limit else {
        return nil
      }
      state.lastLookUp += 1
      state.limited[name] = (state.lastLookUp, isLate: false)
      return (state.lastLookUp, limit)
    }
  }

  private func timedOut(_ name: String, _ number: UInt64) {
    let tasks = state.withLock { state -> [Waiting] in
      // The timer of an earlier look-up may come too late to be cancelled.
      guard state.limited[name]?.number == number else { return [] }
      state.limited[name]?.isLate = true
      return state.take(waitingFor: name)
    }
    for task in tasks { task.continuation.resume(returning: false) }
  }

  /// Delivers an answer. Returns the name that this thread looks up next.
  private func end(_ name: String, _ answer: NameAnswer) -> String? {
    let now = Deadline.now
    let (loops, tasks, next) = state.withLock { state in
      state.limited[name] = nil
      let (waiters, next) = state.table.answered(name, answer, at: now)
      var loops: [CurlLoop] = []
      var tasks: [Waiting] = []
      for waiter in waiters {
        switch waiter {
        case .loop(let loop): loops.append(loop)
        case .task(let task): if let task = state.tasks.removeValue(forKey: task) { tasks.append(task) }
        }
      }
      return (loops, tasks, next)
    }
    for loop in loops { loop.named(name, answer) }
    for task in tasks { task.continuation.resume(returning: true) }
    return next
  }
}

extension EndPoint {
  /// The name to look up before a socket can be opened. Nil for an address, for a Unix-domain socket, and for the names
  /// of this machine, which libcurl resolves itself (RFC 6761).
  var nameToLookUp: String? {
    let needsNone = isUnixSocket || isIPv6 || isIPv4 || host == "localhost" || host.hasSuffix(".localhost")
    return needsNone ? nil : host
  }
}
