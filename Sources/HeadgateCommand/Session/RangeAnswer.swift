/// What an answer means to the one who asked for the rest of a body, or for one that changed.
enum RangeAnswer: Hashable, Sendable {
  /// The rest, which follows what is there; the length of the whole body, if it is told.
  case rest(total: Int?)
  /// All of a body: what is there is void.
  case all
  /// What is there is all of it.
  case complete
  /// The version that is there is the present one.
  case unchanged
  /// It can't be used: to be asked for from the beginning.
  case unusable
  /// An error.
  case refused

  /// - Parameters:
  ///   - status: The answer's status.
  ///   - contentRange: Its field Content-Range.
  ///   - tag: Its field ETag.
  ///   - offset: How many bytes are there, if the rest was asked for; nil: it was not.
  ///   - expected: The tag of what is there.
  init(status: Int, contentRange: String?, tag: String?, after offset: Int?, of expected: String?) {
    switch (status, offset) {
    case (304, nil): self = .unchanged
    case (206, let offset?):
      guard let range = contentRange.flatMap(Self.range), range.first == offset, tag == nil || tag == expected else {
        self = .unusable
        return
      }
      self = .rest(total: range.total)
    case (416, let offset?):
      self = contentRange.flatMap(Self.unsatisfied) == offset ? .complete : .unusable
    // Of what was asked for as a whole no part is of use.
    case (206, nil): self = .refused
    case (200...299, _): self = .all
    default: self = .refused
    }
  }

  /// `bytes 5-9/10`, `bytes 5-9/*`.
  private static func range(_ text: String) -> (first: Int, total: Int?)? {
    guard let (range, total) = parts(text) else { return nil }
    let ends = range.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
    if total == "*" { return (first, nil) }
    guard let total = Int(total), last < total else { return nil }
    return (first, total)
  }

  /// `bytes */10`.
  private static func unsatisfied(_ text: String) -> Int? {
    guard let (range, total) = parts(text), range == "*" else { return nil }
    return Int(total)
  }

  private static func parts(_ text: String) -> (range: Substring, total: Substring)? {
    guard text.lowercased().hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    return parts.count == 2 ? (parts[0], parts[1]) : nil
  }
}
