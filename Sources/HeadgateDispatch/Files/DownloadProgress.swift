/// How much of a download's body has come.
///
/// It is told of after a hundredth of what is expected, but at least 64 KB and at most 1 MB, and at the body's end. The calls come one at a time on a thread for files, before the completion;
/// while one runs only the latest count waits, so a slow listener holds up nothing but its own file. A body that is not
/// kept (a status other than 200 to 299) is told of as well.
public struct DownloadProgress: Hashable, Sendable {
  /// Hears of progress.
  public typealias Listener = @Sendable (DownloadProgress) -> Void

  /// The bytes that have come, never fewer than told before.
  public let received: Int64

  /// How many there will be; nil where the response does not say.
  public let expected: Int64?

  /// From 0 to 1; nil where it is not known how much there will be.
  public var fraction: Double? {
    guard let expected else { return nil }
    return expected > 0 ? min(1, Double(received) / Double(expected)) : 1
  }
}

/// Says when progress is worth a call.
struct DownloadCount {
  private static let leastStep: Int64 = 64 * 1024
  private static let longestStep: Int64 = 1024 * 1024

  private var expected: Int64?
  private var received: Int64 = 0
  private var told: Int64 = -1

  init(expected: Int64?) { self.expected = expected }

  /// A body begins, perhaps for a second time: until it has come as far as the first one nothing is told.
  mutating func begin(expecting expected: Int64?) { (self.expected, received) = (expected, 0) }

  /// More has come. Returns what is to be told; nil: not yet.
  mutating func add(_ bytes: Int) -> DownloadProgress? {
    received += Int64(bytes)
    let step = min(max(Self.leastStep, (expected ?? 0) / 100), Self.longestStep)
    return received - max(told, 0) >= step || received == expected ? tell() : nil
  }

  /// The body is whole. Returns what is to be told; nil: that was told.
  mutating func end() -> DownloadProgress? { tell() }

  private mutating func tell() -> DownloadProgress? {
    guard received > told else { return nil }
    told = received
    return DownloadProgress(received: received, expected: expected)
  }
}
