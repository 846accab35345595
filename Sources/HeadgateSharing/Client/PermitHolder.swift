import HeadgateGate
import HeadgateLibC
import HeadgateThreads

/// Gets one permit for a process, and for the commands that it starts.
package enum PermitHolder {
  /// Blocks until a permit is granted. Returns the descriptor of its pipe: the permit is held while any process has it
  /// open. Commands that are started inherit it. Nil if the deadline passes.
  ///
  /// - Parameters:
  ///   - demand: What the permit is for.
  ///   - folder: The folder through which permits are shared.
  ///   - deadline: When to give up.
  ///   - startServer: Starts a server, unless another one serves the folder.
  /// - Throws: ``SharingError`` if no server can be reached or started, or if it refuses.
  package static func acquire(
    _ demand: SharedDemand, in folder: PermitFolder = .user, until deadline: Deadline = .distantFuture,
    startServer: (PermitFolder) throws(SharingError) -> Void
  ) throws(SharingError) -> Int32? {
    while deadline > .now {
      guard var channel = try connect(folder, until: deadline, startServer) else { return nil }
      defer { channel.close() }
      guard let path = try granted(demand, over: &channel, folder, until: deadline) else { continue }
      do throws(SystemFailure) {
        let pipe = try PermitPipe.take(path)
        // The server now closes its own end. If the server has gone, the next one finds the pipe.
        try? channel.send(.taken(1))
        _ = fcntl(pipe, F_SETFD, 0)
        return pipe
      } catch {
        // The server that created the pipe has ended: the next one is asked.
        guard error.number == ENOENT || error.number == ENXIO else { throw SharingError(folder, error.description) }
      }
    }
    return nil
  }

  /// The path of the granted permit's pipe. Nil if the server ends, or the deadline passes.
  private static func granted(
    _ demand: SharedDemand, over channel: inout PermitChannel, _ folder: PermitFolder, until deadline: Deadline
  ) throws(SharingError) -> String? {
    do throws(SystemFailure) {
      try channel.send(.limitEndPoint(demand.endPoint, demand.limits))
      for (scope, limits) in demand.scopeLimits { try channel.send(.limitScope(scope, limits)) }
      try channel.send(.ask(1, PermitAsk(demand)))
    } catch {
      return nil
    }
    while let reply = channel.next(until: deadline) {
      switch reply {
      case .granted(1, let path, _): return path
      case .refused(_, _, let text), .error(let text): throw SharingError(folder, text)
      case .granted, .status, .end, .knows, .pause, .unknown: break
      }
    }
    return nil
  }

  private static func connect(
    _ folder: PermitFolder, until deadline: Deadline, _ startServer: (PermitFolder) throws(SharingError) -> Void
  ) throws(SharingError) -> PermitChannel? {
    // Many programs that start servers at once, of which one stays, need seconds for it on a busy machine.
    let patience = Deadline.after(.seconds(30))
    // Of the programs that wait when a server dies, one starts the next, and the others look for it; each by itself if
    // that takes long, since the one may have been stopped.
    let trust = Deadline.after(.seconds(1))
    var turn: StartingTurn?
    defer { turn?.end() }
    var pause: Int32 = 5
    while deadline > .now {
      let failure: SystemFailure
      do throws(SystemFailure) { return try PermitChannel(folder) } catch { failure = error }
      // A server runs, and has no room for more connections at present.
      if failure.number == EAGAIN {
        poll(nil, 0, 20)
        continue
      }
      // No server can change these.
      do throws(SystemFailure) { try folder.prepare() } catch { throw SharingError(folder, error.description) }
      if failure.number == ENAMETOOLONG { throw SharingError(folder, failure.description) }
      if turn == nil { turn = StartingTurn(in: folder) }
      if turn != nil || trust <= .now { try startServer(folder) }
      guard patience > .now else { throw SharingError(folder, failure.description) }
      // A server that has just been started, here or elsewhere, needs a moment until it listens.
      poll(nil, 0, pause)
      pause = min(pause * 2, turn == nil && trust > .now ? 20 : 500)
    }
    return nil
  }
}

/// A program's turn to start a server, which one program has at a time.
private struct StartingTurn {
  private let lock: Int32

  /// Nil if another program has it, or if the file can't be used.
  init?(in folder: PermitFolder) {
    lock = open(folder.starting, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard lock >= 0 else { return nil }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      close(lock)
      return nil
    }
  }

  func end() { close(lock) }
}
