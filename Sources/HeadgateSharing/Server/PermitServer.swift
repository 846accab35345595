import HeadgateGate
import HeadgateLibC
import HeadgateThreads

/// Serves permits to the programs of one user: the process-wide half of a ``UnixCoordinator``.
///
/// One server at a time serves a folder: the one that holds its lock. It ends by itself some time after the last
/// program has left and the last permit was returned, or up to an hour later if an earlier start still counts toward a
/// rate. If it is killed, programs keep their permits, the next server finds them, and waiting requests are sent to it
/// again. Only the history of budgets is lost, and what a `GateState` does not keep: see
/// ``start(in:linger:state:)``.
///
/// You rarely need this class: a `UnixCoordinator` starts a server by itself. A server that serves rates should outlive
/// the programs; `headgate share serve` runs one.
public final class PermitServer: Sendable {
  private let shared: ServerShared
  private let thread: WorkerThread

  /// Starts a server on a thread of its own. Returns nil if another one serves the folder.
  ///
  /// - Parameters:
  ///   - folder: The folder.
  ///   - linger: How long it runs after the last program and permit, if no rate or pause needs it for longer.
  ///   - state: Keeps pauses, and the starts in long windows, for later servers and other programs. Nil: they end with
  ///     the server.
  /// - Throws: ``SharingError`` if the folder can't be used, or if the system has no descriptor or thread left. Permits
  ///   of an earlier server stay with their holders, for the next attempt.
  public static func start(
    in folder: PermitFolder = .user, linger: Duration = .seconds(10), state: GateState? = nil
  ) throws(SharingError) -> PermitServer? {
    guard let lock = try claim(folder) else { return nil }
    do throws(SharingError) { return try PermitServer(folder, linger, state, lock) } catch {
      close(lock)
      throw error
    }
  }

  private init(
    _ folder: PermitFolder, _ linger: Duration, _ state: GateState?, _ lock: Int32
  ) throws(SharingError) {
    var open: Int32?
    var earlier: EarlierPermits?
    do {
      let found = try EarlierPermits(in: folder)
      earlier = found
      let listener = try LocalSocket.listen(at: folder.socket)
      open = listener
      let poller = try Poller()
      let shared = ServerShared(poller)
      self.shared = shared
      thread = try WorkerThread(name: "headgate-permits", serves: true) {
        ServerLoop(shared, folder, linger, state, lock: lock, listener: listener, after: found).run()
      }
    } catch {
      // Programs would connect to it, and wait for answers.
      if let open {
        unlink(folder.socket)
        StreamSocket.close(open)
      }
      earlier?.close()
      throw SharingError(folder, "\(error)")
    }
  }

  /// Takes the lock of a folder, which the process keeps until it ends or closes it. Nil if a server has it.
  private static func claim(_ folder: PermitFolder) throws(SharingError) -> Int32? {
    do throws(SystemFailure) {
      try folder.prepare()
      let lock = open(folder.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard lock >= 0 else { throw SystemFailure("open \(folder.lock)") }
      while flock(lock, LOCK_EX | LOCK_NB) != 0 {
        if errno == EINTR { continue }
        let failure = SystemFailure("lock \(folder.lock)")
        close(lock)
        if failure.number == EWOULDBLOCK { return nil }
        throw failure
      }
      return lock
    } catch {
      throw SharingError(folder, "\(error)")
    }
  }

  /// Waits until the server has ended by itself or by ``stop()``.
  public func wait() { thread.join() }

  /// Ends the server. Programs keep their permits, and start another server when they need one. Idempotent.
  public func stop() { shared.post(.stop) }
}

/// Permits can't be shared: the folder can't be used, or the system has no resources left.
public struct SharingError: HeadgateError, Hashable {
  /// `sharing_failed`.
  public var codeName: String { "sharing_failed" }
  /// What failed, in which folder, and what to do.
  public let description: String

  /// - Parameter text: What failed.
  package init(_ folder: PermitFolder, _ text: String) {
    description =
      "permits can't be shared in \(folder): \(text); "
      + "check the folder, or use another one: --folder, HEADGATE_FOLDER or PermitFolder(path:)"
  }
}

/// What other threads tell the server's thread.
final class ServerShared: Sendable {
  enum Message: Sendable {
    /// The gate's answer to a request.
    case answer(PermitLedger.PermitID, Result<Permit, DispatchError>)
    case stop
  }

  let poller: Poller
  private let inbox = Locked<[Message]>([])

  init(_ poller: Poller) { self.poller = poller }

  func post(_ message: Message) {
    inbox.withLock { $0.append(message) }
    poller.wake()
  }

  func takeMessages() -> [Message] {
    inbox.withLock { inbox in
      defer { inbox = [] }
      return inbox
    }
  }
}
