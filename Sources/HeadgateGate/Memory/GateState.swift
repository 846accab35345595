import HeadgateLibC
import HeadgateThreads
import Logging
import Synchronization

/// State of gates that outlives the process: what servers have said, and the starts in long windows.
///
///     let state = GateState(folder: "/home/me/.local/state/headgate")
///     let dispatcher = URLDispatcher(transport: transport, limits: limits, state: state)
///
/// A job that is started every five minutes then does not ask a server again that has named a wait of six hours, and a
/// rate such as 500 a day holds for all of its runs together. Kept are, for each end-point:
///
/// - the end of a pause. A wait that the server named is kept whole, up to a day, even if ``PausePolicy/maxPause`` is
///   shorter. A request that would have to wait for longer than ``PausePolicy/patience``, or without one than
///   `maxPause`, because of what an earlier process was told, ends at once with the error `refusing`;
/// - the end of an exhausted quota, in the same way;
/// - a suspension by the circuit breaker, if there is one (``GateLimits/breaker``), up to an hour;
/// - limits learned from refusals, as of the last refusal, if they are learned (``GateLimits/adaptive``);
/// - the number of starts in the windows of rates, and of minimum intervals, of a minute or longer. They are written
///   before they happen, each in one of a hundred parts of its window, as if all in one part came at its end. A burst
///   reserves up to a tenth more than it has used, and a rate of thousands up to a thousandth; what is not used within
///   the part is lost.
///
/// What is read can only lower a limit or prolong a pause. Not kept are pauses, quotas and rates of scopes, budgets of
/// weights, and starts under a coordinator, which counts them itself.
///
/// Each end-point with something to say has one small file, which is removed when it is past; there are at most 10,000.
/// Several processes may use the folder at the same time. It must be on a local file system, and belong to this user
/// alone: it tells which hosts were used. If it can't be used, that is reported once, and the gate goes on with what it
/// knows. A file that is torn, stale, of another origin or from the future is ignored and removed.
///
/// A refusal is written on the thread that received it, before its response is delivered, and so are the first answer
/// after it, and an exhausted quota. Other responses cost nothing.
/// Where a limit has a window of a minute or longer, the first starts of a burst cost a write each, which takes from a
/// tenth of a millisecond to a few, depending on the file system.
public final class GateState: Sendable {
  /// The starts of the current part of a window: those that are counted on disk and have not happened, and those that
  /// have.
  private struct Reserve {
    let bounds: [StartBound]
    let from: Int64
    let before: Int64
    var left: Int
    var used: Int
  }

  let folder: StateFolder
  private let keepsLoopback: Bool
  private let report: @Sendable (String) -> Void
  private let wallClock: @Sendable () -> Int64
  // How long to wait for the lock, in milliseconds.
  private let patience: Int
  private let hasReported = Atomic<Bool>(false)
  /// Another process held the lock for too long.
  private let isStuck = Atomic<Bool>(false)
  private let hasSwept = Atomic<Bool>(false)
  private let reserves = Locked<[EndPoint: Reserve]>([:])

  /// Creates the state of a folder. Nothing is read or written yet.
  ///
  /// - Parameters:
  ///   - folder: The absolute path of the folder. It is created, with the folders above it, when there is something to
  ///     write. Nothing else may be in it.
  ///   - keepsLoopback: Whether it also keeps the state of end-points on this machine: `localhost` and names that end
  ///     in `.localhost`, 127.0.0.0/8, `::1`, and Unix-domain sockets. Not by default, because another server may use
  ///     the same port later.
  ///   - report: Called once, with a sentence, if the folder can't be used. Nil: a warning is logged.
  public convenience init(
    folder: String, keepsLoopback: Bool = false, report: (@Sendable (String) -> Void)? = nil
  ) {
    self.init(folder: folder, keepsLoopback: keepsLoopback, report: report, wallClock: Self.now)
  }

  /// - Parameters:
  ///   - capacity: The maximum number of files.
  ///   - patience: How long to wait for the lock, in milliseconds.
  ///   - wallClock: Milliseconds since 1970.
  package init(
    folder: String, keepsLoopback: Bool = false, capacity: Int = 10_000, patience: Int = 100,
    report: (@Sendable (String) -> Void)? = nil, wallClock: @escaping @Sendable () -> Int64
  ) {
    self.folder = StateFolder(path: folder, capacity: capacity)
    self.keepsLoopback = keepsLoopback
    self.report = report ?? { text in Logger(label: "headgate.state").warning("\(text)") }
    self.wallClock = wallClock
    self.patience = patience
  }

  private static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// The time by the wall clock, in milliseconds since 1970.
  var now: Int64 { wallClock() }

  /// Whether anything is kept of an end-point.
  package func keeps(_ endPoint: EndPoint) -> Bool { keepsLoopback || !endPoint.isLoopback }

  /// What is known of a server. Nil if nothing is. One read(2), and no lock.
  func server(of endPoint: EndPoint) -> Remembered.Server? {
    guard keeps(endPoint), let name = Remembered.name(of: endPoint) else { return nil }
    do throws(StateFailure) {
      guard try folder.isUsable(), let text = try folder.read(name) else { return nil }
      var known = Remembered(text, named: name)
      known?.clamp(at: now)
      // It is past, or no file of ours.
      if known?.end == nil { change(endPoint) { _, _ in } }
      return known?.server == Remembered.Server() ? nil : known?.server
    } catch {
      tell(error)
      return nil
    }
  }

  /// Changes what is known of a server.
  func changeServer(of endPoint: EndPoint, _ event: (inout Remembered.Server, _ now: Int64) -> Void) {
    change(endPoint) { event(&$0.server, $1) }
  }

  /// Keeps a pause that a program was told of, for processes that begin later. Nothing is kept of this machine's
  /// end-points unless they are wanted.
  package func remember(_ pause: SharedPause) {
    changeServer(of: pause.endPoint) { server, now in
      // Rounded up.
      let until = now + pause.left.wholeNanoseconds / 1_000_000 + 1
      switch pause.cause {
      case .refused(let status): server.paused(until: until, status: status, at: now)
      case .unreachable: server.suspended(until: until, hasGivenUp: false, at: now)
      }
    }
  }

  /// Counts a start. Nil if it may happen now; otherwise when to ask again, and what it waits for. It may happen if the
  /// folder can't be used.
  func reserve(_ bounds: [StartBound], at endPoint: EndPoint) -> (until: Int64, cause: StartCause)? {
    guard !bounds.isEmpty, keeps(endPoint) else { return nil }
    let (isReserved, earlier) = takeReserved(bounds, at: endPoint)
    guard !isReserved else { return nil }
    let answer = change(endPoint) { known, now in (known.program.reserve(bounds, after: earlier, at: now), now) }
    switch answer {
    case nil: return nil
    case (.waits(let until, let cause), _)?: return (until, cause)
    case (.granted(let count, let before), let now)?:
      reserves.withLock { reserves in
        // A crawl over many hosts does not keep those of the past.
        if reserves.count >= 1000 { reserves = reserves.filter { $0.value.before > now } }
        // Of two threads, one loses what it has not used.
        let used = reserves[endPoint]?.before == before ? earlier : 0
        reserves[endPoint] = Reserve(bounds: bounds, from: now, before: before, left: count - 1, used: used + 1)
      }
      return nil
    }
  }

  /// A start that was counted did not happen: the next one in the same part of the window takes its place. No file is
  /// written, so one that comes later, or in another process, does not.
  func giveBack(_ bounds: [StartBound], at endPoint: EndPoint) {
    let now = now
    reserves.withLock { reserves in
      guard var reserve = reserves[endPoint], reserve.bounds == bounds, reserve.from <= now, now < reserve.before,
        reserve.used > 0
      else { return }
      reserve.left += 1
      reserve.used -= 1
      reserves[endPoint] = reserve
    }
  }

  /// Takes one of the starts that were reserved before, if one is left. Also returns how many were used in the current
  /// part of the window.
  private func takeReserved(_ bounds: [StartBound], at endPoint: EndPoint) -> (isReserved: Bool, used: Int) {
    let now = now
    return reserves.withLock { reserves in
      guard var reserve = reserves[endPoint], reserve.bounds == bounds, reserve.from <= now, now < reserve.before else {
        return (false, 0)
      }
      guard reserve.left > 0 else { return (false, reserve.used) }
      reserve.left -= 1
      reserve.used += 1
      reserves[endPoint] = reserve
      return (true, reserve.used)
    }
  }

  /// Reads, changes and writes a file. Nil, without a change, if that is impossible.
  @discardableResult
  private func change<Result>(_ endPoint: EndPoint, _ event: (inout Remembered, _ now: Int64) -> Result) -> Result? {
    guard keeps(endPoint), let name = Remembered.name(of: endPoint) else { return nil }
    // While another process keeps the lock, only the first attempt waits for it.
    let patience = isStuck.load(ordering: .relaxed) ? 0 : patience
    do throws(StateFailure) {
      return try folder.withLock(patience: patience) { lock throws(StateFailure) in
        isStuck.store(false, ordering: .relaxed)
        let text = try folder.read(name)
        // Read under the lock, for which it may have waited.
        let now = now
        var known = text.flatMap { Remembered($0, named: name) } ?? Remembered()
        known.clamp(at: now)
        let result = event(&known, now)
        guard let end = known.end else {
          if text != nil { folder.remove(name) }
          return result
        }
        let new = known.text(named: name)
        guard new != text else { return result }
        if text == nil {
          let sweeps = !hasSwept.exchange(true, ordering: .relaxed)
          try folder.makeRoom(lock, sweeps: sweeps, at: now / 1000)
        }
        try folder.write(new, to: name, end: end / 1000 + 1)
        return result
      }
    } catch {
      if error.isStuck { isStuck.store(true, ordering: .relaxed) }
      tell(error)
      return nil
    }
  }

  private func tell(_ failure: StateFailure) {
    guard !hasReported.exchange(true, ordering: .relaxed) else { return }
    report("\(failure): what servers say is not kept for later runs")
  }
}
