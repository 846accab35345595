import HeadgateLibC
import HeadgateThreads

/// The state of the permit server.
package enum PermitStatus {
  /// How long a server may take to answer. One that is stopped never does.
  private static let patience = Duration.seconds(10)

  /// Reads the state as a text: the number of programs, then a table of end-points and scopes. Blocks for as long as the
  /// server takes to answer. Empty if no server runs.
  ///
  /// - Throws: ``SharingError`` if the server can't be asked.
  package static func read(from folder: PermitFolder = .user) throws(SharingError) -> [String] {
    try lines(.status, from: folder) ?? []
  }

  /// Reads the state as values. Blocks likewise. Nil if no server runs.
  ///
  /// - Throws: ``SharingError`` if the server can't be asked, or is of an earlier version.
  package static func state(from folder: PermitFolder = .user) throws(SharingError) -> PermitState? {
    guard let lines = try lines(.state, from: folder) else { return nil }
    guard let state = PermitState(lines: lines) else {
      throw SharingError(folder, "its server is of an earlier version, which does not tell who holds and who waits")
    }
    return state
  }

  private static func lines(_ command: PermitCommand, from folder: PermitFolder) throws(SharingError) -> [String]? {
    do throws(SystemFailure) {
      var channel = try PermitChannel(folder)
      defer { channel.close() }
      try channel.send(command)
      let deadline = Deadline.after(patience)
      var lines: [String] = []
      while let reply = channel.next(until: deadline) {
        switch reply {
        case .status(let text): lines.append(text)
        case .end, .error: return lines
        default: continue
        }
      }
      throw SystemFailure("read an answer of the permit server", deadline > .now ? ECONNRESET : ETIMEDOUT)
    } catch {
      if error.number == ENOENT || error.number == ECONNREFUSED { return nil }
      throw SharingError(folder, error.description)
    }
  }
}

extension PermitState {
  /// Someone who holds or waits for a permit.
  package struct Person: Hashable, Sendable {
    /// The end-point.
    package let place: String
    /// The process; the oldest of several that hold one permit. Nil if unknown.
    package let process: Int32?
    /// The number of processes that hold the permit, or 1. Zero if unknown.
    package let processes: Int
    /// Its program and arguments. Nil if unknown.
    package let command: String?
    /// Since when, in milliseconds since 1970. Nil if unknown.
    package let since: Int64?
  }

  /// Who holds permits, by age. Looks into the processes of this machine.
  ///
  /// - Parameter folder: The folder of the server.
  package func holdingPeople(in folder: PermitFolder) -> [Person] {
    let processes = PermitProcesses.holding(Set(holders.map(\.permit)), in: folder)
    return holders.map { holder in
      let all = processes[holder.permit] ?? []
      return Person(
        place: holder.place, process: all.first, processes: all.count,
        command: all.first.flatMap { PermitProcesses.command(of: $0) }, since: folder.granted(holder.permit))
    }
  }

  /// Who waits for permits, by age.
  package func waitingPeople() -> [Person] {
    waiters.map { waiter in
      let process = waiter.process > 0 ? waiter.process : nil
      return Person(
        place: waiter.place, process: process, processes: process == nil ? 0 : 1,
        command: process.flatMap { PermitProcesses.command(of: $0) }, since: waiter.since > 0 ? waiter.since : nil)
    }
  }
}

extension PermitFolder {
  /// When a permit was granted, in milliseconds since 1970: its record is written then, and never again.
  fileprivate func granted(_ permit: UInt64) -> Int64? {
    var info = stat()
    guard stat(record(permit), &info) == 0 else { return nil }
    #if canImport(Darwin)
    let time = info.st_mtimespec
    #else
    let time = info.st_mtim
    #endif
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
