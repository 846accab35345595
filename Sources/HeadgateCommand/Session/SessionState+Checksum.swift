import HeadgateDispatch

extension SessionState.Plan {
  /// A complete body, and whether it is still in its part file.
  private var body: (file: SessionFile, isPart: Bool)? {
    switch self {
    case .complete(let file), .confirm(let file), .renew(let file): (file, false)
    case .name(let file, _): (file, true)
    case .goOn, .begin, .unknown: nil
    }
  }

  private func with(_ file: SessionFile) -> Self {
    switch self {
    case .complete: .complete(file)
    case .confirm: .confirm(file)
    case .renew: .renew(file)
    case .name(_, let renews): .name(file, renews: renews)
    case .goOn, .begin, .unknown: self
    }
  }

  /// Compares a complete body with its checksum, unless the journal says that it has been compared with that one. A body
  /// that does not match is fetched again, and its file stays until then. Blocks.
  ///
  /// - Parameters:
  ///   - mayReplace: Whether a part file may replace the file of a name.
  ///   - expected: Returns the checksum for the name of a file, or nil.
  /// - Returns: The plan, and the lines that the journal gets about a body that matches.
  func verified(
    _ key: String, in folder: String, mayReplace: (String) -> Bool, _ expected: (String) -> Checksum?
  ) -> (plan: Self, lines: String) {
    guard let body, let checksum = expected(body.file.name), checksum != body.file.checksum else { return (self, "") }
    var file = body.file
    let path = FileName.path(body.isPart ? file.name + ".part" : file.name, in: folder)
    guard let found = Descriptor.found(path), (try? Checksum(ofFile: path)) == checksum else {
      // Another program may have put a file under the name of a body that is still in its part file.
      let isTaken =
        body.isPart && !mayReplace(file.name) && Descriptor.found(FileName.path(file.name, in: folder)) != nil
      return (.begin(name: isTaken ? nil : file.name), "")
    }
    file.checksum = checksum
    let whole = SessionEvent.whole(key: key, file, inode: found.inode).line
    return (with(file), body.isPart ? whole : whole + SessionEvent.done(key: key).line)
  }
}
