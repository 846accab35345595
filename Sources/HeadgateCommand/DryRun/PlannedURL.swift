import HeadgateDispatch

/// What would become of a URL.
struct PlannedURL {
  /// What would be done, the URL, and the file; tabs in between. Where bodies go to no files there is none.
  let line: String
  /// Whether nothing would be asked for.
  let isThere: Bool

  /// - Parameters:
  ///   - plan: What a session has planned; nil: there is none.
  ///   - claim: Gives a name to a file.
  init(_ job: FetchJob, _ plan: SessionState.Plan?, _ target: FetchOptions.Target, claim: (String) -> String) {
    var (word, name, offset) = (target == .statuses ? "check" : "fetch", String?.none, Int?.none)
    switch plan {
    case .there(let file), .confirm(let file), .name(let file): (word, name) = ("there", file.name)
    case .renew(let file): (word, name) = ("renew", file.name)
    case .goOn(let given, let from, _): (word, name, offset) = ("resume", given, from)
    case .begin(let given): name = given
    case nil: break
    }
    isThere = word == "there"
    var parts = [word, ShownText.withoutPassword(job.url)]
    if case .folder(let folder) = target {
      parts.append(FileName.path(name ?? claim(FileName.of(job.request.url)), in: folder))
    }
    if let offset { parts.append("from byte \(offset)") }
    line = parts.map { ShownText.of($0, atMost: .max) }.joined(separator: "\t") + "\n"
  }
}
