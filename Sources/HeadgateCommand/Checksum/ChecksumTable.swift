import HeadgateDispatch

/// Checksums by name, from files in the format of `sha256sum`. All of them are in memory, at about 150 bytes each.
struct ChecksumTable: Sendable {
  private var sums: [String: Checksum] = [:]
  /// What the user should know about the files.
  private(set) var remarks: [String] = []

  init() {}

  /// Reads files. Lines without a SHA-256 checksum, such as signatures and other checksums, are passed over.
  ///
  /// - Throws: ``FetchProblem`` if a file can't be read, has no checksum, or has two for one name.
  init(files: [String]) throws(FetchProblem) {
    for file in files {
      let problem: String?
      do throws(SystemError) { problem = try read(file) } catch {
        throw FetchProblem("the checksums in \(file) can't be read: \(error)")
      }
      if let problem { throw FetchProblem("\(file): \(problem)", status: .usage) }
    }
  }

  /// The checksum for a job: the one that its list sets, or else the one in the files. A checksum from the journal of
  /// an earlier run may be out of date, so the files take precedence over it.
  func expected(for job: FetchJob, named name: String?, isFromJournal: Bool) -> Checksum? {
    if isFromJournal { return of(job.url, named: name) ?? job.checksum }
    return job.checksum ?? of(job.url, named: name)
  }

  /// The checksum for a URL: by the URL itself, by the longest matching end of its path with a folder, by the name of
  /// its file, or by the last part of its path.
  func of(_ url: String, named name: String?) -> Checksum? {
    guard !sums.isEmpty else { return nil }
    if let sum = sums[url] { return sum }
    var parts = FileName.pathComponents(of: url)[...]
    while parts.count > 1 {
      if let sum = sums[parts.joined(separator: "/")] { return sum }
      parts = parts.dropFirst()
    }
    return name.flatMap { sums[$0] } ?? parts.first.flatMap { sums[$0] } ?? sums[FileName.of(url)]
  }

  /// Reads a file. Returns what is wrong with it, or nil.
  private mutating func read(_ path: String) throws(SystemError) -> String? {
    let file = try Descriptor.openForReading(path)
    defer { Descriptor.close(file) }
    var text = InputText(LineCutter { NumberedChecksum($0, $1) })
    var (found, other, firstOther) = (0, 0, 0)
    while true {
      let piece: InputPiece<NumberedChecksum>
      if let next = text.next() {
        piece = next
      } else {
        piece = text.take(try Descriptor.readNext(file))
      }
      switch piece {
      case .items(let lines):
        for line in lines {
          if let sum = line.sum {
            found += 1
            if let problem = add(sum, line.number) { return problem }
          } else {
            other += 1
            if other == 1 { firstOther = line.number }
          }
        }
      case .end:
        guard found > 0 || other == 0 else { return Self.nothing(firstOther) }
        if other > 0 {
          remarks.append("\(path): lines without a SHA-256 checksum: \(other), the first is line \(firstOther)")
        }
        return nil
      case .compressed(let form): return "it is compressed by \(form)"
      case .broken(let reason): return reason
      }
    }
  }

  private static func nothing(_ line: Int) -> String {
    "line \(line) has no SHA-256 checksum, nor has any other line; write one as sha256sum does: 64 hexadecimal digits, "
      + "two spaces, the name"
  }

  private mutating func add(_ line: ChecksumLine, _ number: Int) -> String? {
    let known = sums.updateValue(line.checksum, forKey: line.name)
    guard known == nil || known == line.checksum else {
      return "line \(number) and an earlier line have different checksums for \"\(ShownText.of(line.name))\""
    }
    return nil
  }
}
