/// What gates have learned of end-points, each with the moment at which it is forgotten: to be kept beyond the process as text.
///
///     try gate.learned.description.write(toFile: path, atomically: true, encoding: .utf8)
///     limits.adaptive = AdaptivePolicy(remembered: LearnedLimits(text))
///
/// One line for each end-point: `api.example.com:443 requests=4 rate=28.5 expires=1764000000`.
public struct LearnedLimits: Hashable, Sendable, CustomStringConvertible {
  /// What was learned of one end-point.
  public struct Entry: Hashable, Sendable {
    /// How many requests at once it takes; 1 or more.
    public let requests: Int
    /// How many starts in a second it takes; nil: none were refused for their rate.
    public let rate: Double?
    /// When this is forgotten, in seconds since 1970.
    public let expires: Int64

    /// What was learned of one end-point. Values out of range are taken for the nearest that are in it.
    ///
    /// - Parameters:
    ///   - requests: How many requests at once.
    ///   - rate: How many starts in a second; nil, and what is not above nothing: not known.
    ///   - expires: When this is forgotten, in seconds since 1970.
    public init(requests: Int, rate: Double?, expires: Int64) {
      self.requests = max(1, requests)
      self.rate = rate.flatMap { $0 > 0 ? min(max($0, 0.1), 1e6) : nil }
      self.expires = expires
    }
  }

  /// What was learned, by the end-points' text (`host:port`).
  public private(set) var entries: [String: Entry] = [:]

  /// Nothing.
  public init() {}

  /// What ``description`` has written. Lines that can't be read, and those that have expired, are left out.
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

  /// What is known of an end-point and has not expired.
  public subscript(endPoint: EndPoint) -> Entry? {
    get { entries.isEmpty ? nil : entries[endPoint.description].flatMap { $0.expires > Self.now ? $0 : nil } }
    set { entries[endPoint.description] = newValue }
  }

  /// Adds what others have learned; theirs counts where both know an end-point.
  public mutating func merge(_ others: LearnedLimits) { entries.merge(others.entries) { $1 } }

  /// One line for each end-point, by name. O(n log n).
  public var description: String {
    entries.sorted { $0.key < $1.key }.map { name, entry in
      let rate = entry.rate.map { " rate=\($0)" } ?? ""
      return "\(name) requests=\(entry.requests)\(rate) expires=\(entry.expires)\n"
    }
    .joined()
  }

  /// Seconds since 1970.
  static var now: Int64 { Int64(HTTPDate.now) }
}
