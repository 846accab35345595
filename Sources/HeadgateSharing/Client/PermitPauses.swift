import HeadgateGate
import HeadgateLibC
import HeadgateThreads

/// Tells the permit server of a pause, from a program that asks for no permits.
package enum PermitPauses {
  package enum Answer: Hashable, Sendable {
    /// The server knows, and grants no permit before the end of the pause.
    case told
    /// No server runs.
    case noServer
    /// The server is of an earlier version, which does not know pauses.
    case earlierServer
  }

  /// Tells the server of a folder, if one runs. Blocks for as long as the server takes to answer.
  ///
  /// - Parameters:
  ///   - pause: The pause.
  ///   - folder: The folder.
  ///   - patience: How long the server may take. One that is stopped never answers, nor does one whose descriptors are
  ///     all taken by programs that wait for a permit of the caller.
  /// - Throws: ``SharingError`` if the server can't be reached, or takes longer.
  package static func tell(
    _ pause: SharedPause, in folder: PermitFolder = .user, within patience: Duration = .seconds(10)
  ) throws(SharingError) -> Answer {
    let deadline = Deadline.after(patience)
    do throws(SystemFailure) {
      var channel = try connect(folder, until: deadline)
      defer { channel.close() }
      // An earlier server would not say anything by itself.
      try channel.send(.status)
      guard let first = channel.next(until: deadline) else { return try ended(before: deadline) }
      guard case .knows(let verbs) = first, verbs.contains("pause") else { return .earlierServer }
      try channel.send(.pause(PermitPause(pause)))
      try channel.send(.status)
      var ends = 0
      while ends < 2 {
        guard let reply = channel.next(until: deadline) else { return try ended(before: deadline) }
        if reply == .end { ends += 1 }
      }
      return .told
    } catch {
      if error.number == ENOENT || error.number == ECONNREFUSED { return .noServer }
      throw SharingError(folder, error.description)
    }
  }

  private static func connect(_ folder: PermitFolder, until deadline: Deadline) throws(SystemFailure) -> PermitChannel {
    while true {
      do throws(SystemFailure) { return try PermitChannel(folder) } catch {
        // A server runs, and has no room for more connections at present.
        guard error.number == EAGAIN, deadline > .now else { throw error }
      }
      poll(nil, 0, 20)
    }
  }

  /// No reply has come.
  private static func ended(before deadline: Deadline) throws(SystemFailure) -> Answer {
    guard deadline > .now else { throw SystemFailure("read an answer of the permit server", ETIMEDOUT) }
    return .noServer
  }
}
