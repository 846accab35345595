/// Counts what is sent of one request's body, over all the times that it is sent, and says when that is worth telling.
struct UploadCount {
  /// What is sent in between, at least.
  static let step: Int64 = 65536

  private var total: Int64?
  // In the present transmission, and the most in any.
  private(set) var sent: Int64 = 0
  private var highest: Int64 = 0
  private var told: Int64 = -1
  private var hasToldEnd = false

  // The end of a body whose length was not known was reached in the present transmission.
  private var isAtEnd = false

  /// Whether the present transmission has come to its end.
  var isSent: Bool { isAtEnd || total == sent }

  /// The body is sent from its start, for the first time or again.
  mutating func begin(total: Int64?) {
    self.total = total
    sent = 0
    isAtEnd = false
  }

  /// So many bytes more were sent. Returns what is to be told.
  mutating func add(_ count: Int64) -> UploadProgress? {
    sent += count
    highest = max(highest, sent)
    let isWhole = total == highest
    guard isWhole ? told < highest : highest - max(told, 0) >= max(Self.step, (total ?? 0) / 100) else { return nil }
    return tell()
  }

  /// The body's end was reached.
  mutating func end() -> UploadProgress? {
    isAtEnd = true
    guard sent == highest, !hasToldEnd else { return nil }
    hasToldEnd = true
    // The end tells how long it is: that is news too.
    let isNews = told < highest || total == nil
    total = sent
    return isNews ? tell() : nil
  }

  private mutating func tell() -> UploadProgress {
    told = highest
    return UploadProgress(sent: highest, total: total)
  }
}
