import HeadgateDispatch

/// What a run knew about a URL that failed, besides the URL itself. A later run without the list takes it from the
/// journal.
struct ListedURL: Hashable, Sendable {
  /// The path of its file below the folder.
  var path: String
  var checksum: Checksum?
  /// Without user names and passwords.
  var mirrors: [String] = []
}

extension ListedURL {
  init(_ job: FetchJob, path: String) {
    self.path = path
    checksum = job.checksum
    mirrors = job.mirrors.map { (try? DispatchRequest($0))?.url ?? $0 }
  }

  /// Whether the URL alone gives the same information.
  func isPlain(_ url: String) -> Bool { checksum == nil && mirrors.isEmpty && path == FileName.of(url) }
}

extension Session {
  /// The journal's line about a URL that may fail. Empty if a later run needs none.
  func listing(_ key: String, _ job: FetchJob, path: String) -> String {
    let listed = ListedURL(job, path: path)
    guard !listed.isPlain(job.request.url) || self.listed(key) != nil else { return "" }
    return SessionEvent.listed(key: key, listed).line
  }
}
