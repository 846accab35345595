import HeadgateDispatch
import HeadgateThreads

/// Looks names up for all loops of a transport, on a few threads of its own. libcurl's resolver starts a thread for each
/// look-up, also for several of one name.
///
/// The threads start when they are needed and end when they are idle. A look-up that the resolver never answers keeps its
/// thread; those who wait for it may leave at any time.
final class NameService: Sendable {
  /// Look-ups at once. With the other threads of the command these are fewer than forty.
  static let atOnce = 24

  /// Who gets an answer.
  private enum Waiter: Sendable {
    case loop(CurlLoop)
    case task(Int)
  }

  private struct State {
    var table = NameTable<Waiter>(atOnce: NameService.atOnce)
    var tasks: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextTask = 0
    var keepsWaiting = true
  }

  private let crew = LaneCrew(name: "headgate-names", size: NameService.atOnce)
  private let state = Locked(State())
  private let lookUp: @Sendable (String) -> NameAnswer

  /// - Parameter lookUp: Asks the resolver, and blocks meanwhile.
  init(lookUp: @escaping @Sendable (String) -> NameAnswer = NameLookup.answer) { self.lookUp = lookUp }

  /// The answer for a name, if it is known.
  func answer(for name: String) -> NameAnswer? {
    let now = Deadline.now
    return state.withLock { $0.table.answer(for: name, at: now) }
  }

  /// The answer for a name if it is known. If not, the loop is told when it is.
  func ask(_ name: String, for loop: CurlLoop) -> NameAnswer? {
    let now = Deadline.now
    let reply = state.withLock { $0.table.ask(name, .loop(loop), at: now) }
    if case .begins = reply { begin(name) }
    if case .known(let answer) = reply { return answer }
    return nil
  }

  /// Returns when the answer for a name is known, or after ``stopWaiting()``.
  func waitForAnswer(_ name: String) async {
    await withContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let now = Deadline.now
      let (begins, waits) = state.withLock { state -> (Bool, Bool) in
        guard state.keepsWaiting else { return (false, false) }
        let task = state.nextTask
        state.nextTask += 1
        switch state.table.ask(name, .task(task), at: now) {
        case .known: return (false, false)
        case .waits: state.tasks[task] = continuation
        case .begins:
          state.tasks[task] = continuation
          return (true, true)
        }
        return (false, true)
      }
      if !waits { continuation.resume() }
      if begins { begin(name) }
    }
  }

  /// Lets all tasks go on that wait for names, now and from now on.
  func stopWaiting() {
    let tasks = state.withLock { state in
      state.keepsWaiting = false
      defer { state.tasks = [:] }
      return Array(state.tasks.values)
    }
    for task in tasks { task.resume() }
  }

  private func begin(_ name: String) {
    SerialLane(on: crew).run { [self] in
      var next: String? = name
      while let name = next { next = end(name, lookUp(name)) }
    }
  }

  /// Passes an answer on. Returns the name that this thread looks up next.
  private func end(_ name: String, _ answer: NameAnswer) -> String? {
    let now = Deadline.now
    let (loops, tasks, next) = state.withLock { state in
      let (waiters, next) = state.table.answered(name, answer, at: now)
      var loops: [CurlLoop] = []
      var tasks: [CheckedContinuation<Void, Never>] = []
      for waiter in waiters {
        switch waiter {
        case .loop(let loop): loops.append(loop)
        case .task(let task): if let task = state.tasks.removeValue(forKey: task) { tasks.append(task) }
        }
      }
      return (loops, tasks, next)
    }
    for loop in loops { loop.named(name, answer) }
    for task in tasks { task.resume() }
    return next
  }
}

extension EndPoint {
  /// The name that has to be looked up before a socket can be opened; nil for an address, for a Unix-domain socket, and for
  /// the names of this machine itself, which libcurl knows (RFC 6761).
  var nameToLookUp: String? {
    guard !isUnixSocket, !isIPv6, let last = host.utf8.last, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last),
      host != "localhost", !host.hasSuffix(".localhost")
    else { return nil }
    return host
  }
}
