import HeadgateLibC

extension SessionState {
  /// Reads a journal without changing it, even if another run is using it. A missing journal is empty.
  ///
  /// - Throws: ``FetchProblem`` if it can't be read or is not a journal.
  static func peek(_ path: String) throws(FetchProblem) -> SessionState {
    var bytes: [UInt8] = []
    do throws(SystemError) {
      let journal = try Descriptor.openForReading(path)
      defer { Descriptor.close(journal) }
      guard Descriptor.isRegularFile(journal) else { throw SystemError(errno: EINVAL) }
      while case let piece = try Descriptor.read(journal, at: bytes.count, atMost: 1 << 20), !piece.isEmpty {
        bytes += piece
      }
    } catch {
      guard error.errno != ENOENT else { return SessionState() }
      throw FetchProblem("the session \(path) can't be read: \(error)")
    }
    guard let (state, _) = read(bytes) else {
      throw FetchProblem("the file \(path) is not a session of headgate fetch")
    }
    return state
  }

  /// The URLs that failed and have not succeeded since, and how many others failed with another method or body.
  func failedURLs(_ sent: SentRequest) -> (entries: [ListEntry], others: Int) {
    let failed = failed
    let entries = failed.compactMap { key in
      sent.url(ofKey: key).map { url in
        let listed = listed(key)
        return ListEntry(urls: [url] + (listed?.mirrors ?? []), checksum: listed?.checksum)
      }
    }
    return (entries, failed.count - entries.count)
  }
}
