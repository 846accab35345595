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
  /// - Throws: ``SharingError`` if the server can't be reached.
  package static func tell(_ pause: SharedPause, in folder: PermitFolder = .user) throws(SharingError) -> Answer {
    do throws(SystemFailure) {
      var channel = try PermitChannel(folder)
      defer { channel.close() }
      // An earlier server would not say anything by itself.
      try channel.send(.status)
      guard let first = channel.next() else { return .noServer }
      guard case .knows(let verbs) = first, verbs.contains("pause") else { return .earlierServer }
      try channel.send(.pause(PermitPause(pause)))
      try channel.send(.status)
      var ends = 0
      while ends < 2 {
        guard let reply = channel.next() else { return .noServer }
        if reply == .end { ends += 1 }
      }
      return .told
    } catch {
      if error.number == ENOENT || error.number == ECONNREFUSED { return .noServer }
      throw SharingError(folder, error.description)
    }
  }
}
