import HTTPTypes

/// The meaning of a response to a request for the rest of a body or for a newer version.
package enum RangeAnswer: Hashable, Sendable {
  /// The rest of the body, and the length of the whole body.
  case rest(total: Int)
  /// A whole body, which replaces the part.
  case all
  /// The part is already the whole body.
  case complete
  /// The stored version is current.
  case unchanged
  /// The response is unusable. The whole body must be requested.
  case unusable
  /// An error status.
  case refused

  /// - Parameters:
  ///   - status: The status code.
  ///   - contentRange: The field Content-Range.
  ///   - tag: The field ETag.
  ///   - offset: The size of the part, if the rest was requested, else nil.
  ///   - expected: The tag of the part.
  package init(status: Int, contentRange: String?, tag: String?, after offset: Int?, of expected: String?) {
    switch (status, offset) {
    case (304, nil): self = .unchanged
    case (206, let offset?):
      guard let range = contentRange.flatMap(Self.range), range.first == offset, tag == nil || tag == expected else {
        self = .unusable
        return
      }
      self = .rest(total: range.total)
    case (416, let offset?):
      let isSame = tag == nil || tag == expected
      self = isSame && contentRange.flatMap(Self.unsatisfied) == offset ? .complete : .unusable
    // A part is of no use if the whole was requested. Some servers send one with the status of a whole body.
    case (200...299, _) where Self.isPart(status: status, contentRange: contentRange):
      self = offset == nil ? .refused : .unusable
    case (200...299, _): self = .all
    // Some servers and their caches refuse ranges in this way, but not the whole.
    case (400, _?), (403, _?), (412, _?): self = .unusable
    default: self = .refused
    }
  }

  /// Whether the body of a success is only a part of the whole.
  package static func isPart(status: Int, contentRange: String?) -> Bool {
    guard status != 206, let contentRange else { return status == 206 }
    return range(contentRange).map { $0.first > 0 || $0.last + 1 < $0.total } ?? false
  }

  /// `bytes 5-9/10`. Nil for `bytes 5-9/*`: the server may send less than was requested, and without the total it can't
  /// be known whether the body is complete.
  private static func range(_ text: String) -> (first: Int, last: Int, total: Int)? {
    guard let (range, total) = parts(text) else { return nil }
    let ends = range.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last else { return nil }
    guard let total = Int(total), last < total else { return nil }
    return (first, last, total)
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

extension ResponseHead {
  /// Whether it is a success whose body is only a part of the whole.
  package var isPart: Bool {
    (200...299).contains(statusCode) && RangeAnswer.isPart(status: statusCode, contentRange: self[.contentRange])
  }
}
