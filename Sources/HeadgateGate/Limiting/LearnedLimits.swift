import HeadgateLibC

/// Learned limits of end-points, each with its expiry. Written as text, they outlive the process.
///
///     try gate.learned.description.write(toFile: path, atomically: true, encoding: .utf8)
///     limits.adaptive = AdaptivePolicy(remembered: LearnedLimits(text))
///
/// The text has one line for each end-point: `api.example.com:443 requests=4 rate=28.5 expires=1764000000`.
public struct LearnedLimits: Hashable, Sendable, CustomStringConvertible {
  /// The learned limits of one end-point.
  public struct Entry: Hashable, Sendable {
    /// The number of concurrent requests that it accepts, 1 to 1,000,000.
    public let requests: Int
    /// The number of starts in a second that it accepts. Nil if no rate was refused.
    public let rate: Double?
    /// The expiry, in seconds since 1970.
    public let expires: Int64

    /// Creates an entry. Values out of range are replaced by the nearest valid ones.
    ///
    /// - Parameters:
    ///   - requests: The number of concurrent requests.
    ///   - rate: The number of starts in a second. Nil, zero and less: unknown.
    ///   - expires: The expiry, in seconds since 1970.
    public init(requests: Int, rate: Double?, expires: Int64) {
      self.requests = AdaptiveLimit.possible(requests)
      self.rate = rate.flatMap { $0 > 0 ? min(max($0, 0.1), 1e6) : nil }
      self.expires = expires
    }
  }

  /// The entries, by the end-points' text (`host:port`).
  public private(set) var entries: [String: Entry] = [:]

  /// Creates an empty set.
  public init() {}

  /// Parses the text of a ``description``. Invalid lines and expired entries are skipped.
  public init(_ text: String) {
    let now = Self.now
    for line in text.split(whereSeparator: \.isNewline) {
      let words = line.split(separator: " ")
      guard let name = words.first, words.count > 1 else { continue }
      var values: [Substring: Substring] = [:]
      for word in words.dropFirst() {
        let parts = word.split(separator: "=", maxSplits: 1)
        if parts.count == 2 { values[parts[0]] = parts[1] }
      }
      guard let requests = values["requests"].flatMap({ Int($0) }), requests > 0,
        let expires = values["expires"].flatMap({ Int64($0) }), expires > now
      else { continue }
      entries[String(name)] = Entry(
        requests: requests, rate: values["rate"].flatMap { Double($0) }, expires: expires)
    }
  }

  /// The entry of an end-point. Nil if there is none, or if it has expired.
  public subscript(endPoint: EndPoint) -> Entry? {
    get { entries.isEmpty ? nil : entries[endPoint.description].flatMap { $0.expires > Self.now ? $0 : nil } }
    set { entries[endPoint.description] = newValue }
  }

  /// Adds the entries of another set, which replace existing ones.
  public mutating func merge(_ others: LearnedLimits) { entries.merge(others.entries) { $1 } }

  /// One line for each end-point, sorted by name. O(n log n).
  public var description: String {
    entries.sorted { $0.key < $1.key }.map { name, entry in
      let rate = entry.rate.map { " rate=\($0)" } ?? ""
      return "\(name) requests=\(entry.requests)\(rate) expires=\(entry.expires)\n"
    }
    .joined()
  }

  /// Seconds since 1970.
  static var now: Int64 { Int64(time(nil)) }
}
