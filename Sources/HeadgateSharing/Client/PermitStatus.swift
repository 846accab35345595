import HeadgateLibC
import HeadgateThreads

/// The state of the permit server, as text.
package enum PermitStatus {
  /// Reads the state: the number of programs, then a table of end-points and scopes. Blocks for as long as the server
  /// takes to answer. Empty if no server runs.
  ///
  /// - Throws: ``SharingError`` if the server can't be asked.
  package static func read(from folder: PermitFolder = .user) throws(SharingError) -> [String] {
    do throws(SystemFailure) {
      var channel = try PermitChannel(folder)
      defer { channel.close() }
      try channel.send(.status)
      var lines: [String] = []
      while let reply = channel.next() {
        guard case .status(let text) = reply else { break }
        lines.append(text)
      }
      return lines
    } catch {
      if error.number == ENOENT || error.number == ECONNREFUSED { return [] }
      throw SharingError(folder, error.description)
    }
  }
}
