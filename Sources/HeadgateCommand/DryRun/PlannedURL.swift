import HeadgateDispatch

/// The plan for a URL.
struct PlannedURL {
  /// The action, the URL and the file, separated by tabs. The file is omitted if bodies do not go to files.
  let line: String
  /// Whether nothing would be requested.
  let isThere: Bool

  /// - Parameters:
  ///   - plan: The session's plan. Nil without a session.
  ///   - claim: Assigns the path of the file.
  init(_ job: FetchJob, _ plan: SessionState.Plan?, _ target: FetchOptions.Target, claim: () -> String) {
    var (word, name, offset) = (target == .statuses ? "check" : "fetch", String?.none, Int?.none)
    switch plan {
    case .there(let file), .confirm(let file), .name(let file, renews: false): (word, name) = ("there", file.name)
    case .renew(let file), .name(let file, renews: true): (word, name) = ("renew", file.name)
    case .goOn(let given, let from, _): (word, name, offset) = ("resume", given, from)
    case .begin(let given): name = given
    case .unknown, nil: break
    }
    isThere = word == "there"
    var parts = [word, ShownText.withoutPassword(job.url)]
    if case .folder(let folder) = target {
      parts.append(FileName.path(name ?? claim(), in: folder))
    }
    if let offset { parts.append("from byte \(offset)") }
    line = parts.map { ShownText.of($0, atMost: .max) }.joined(separator: "\t") + "\n"
  }
}
