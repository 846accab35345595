import HeadgateDispatch

/// How often requests were refused, as with 429 or 503, and where. In the other counts, retries hide this.
struct Refusals: Hashable, Sendable {
  private static let mostNamed = 3

  private struct Place: Hashable {
    let endPoint: String
    let count: Int
  }

  private let all: Int
  /// Where most were refused.
  private let places: [Place]

  /// - Parameters:
  ///   - all: How many there were.
  ///   - counts: How many there were at each end-point; those of some may be forgotten.
  init(_ all: Int = 0, at counts: [String: Int] = [:]) {
    self.all = all
    places = counts.filter { $0.value > 0 }.map { Place(endPoint: $0.key, count: $0.value) }
      .sorted { ($1.count, $0.endPoint) < ($0.count, $1.endPoint) }
  }

  init(of gate: EndPointGate) {
    let counts = gate.snapshot().endPoints.map { ($0.endPoint.description, $0.refusals) }
    self.init(gate.counts.refusals, at: Dictionary(counts) { $1 })
  }

  /// `refusals 12 (a.example:443 9, b.example:443 3)`. Nil if there were none.
  var words: String? {
    guard all > 0 else { return nil }
    // Those of forgotten end-points are in the sum only.
    var named = places.prefix(Self.mostNamed).map { $0.count == all ? $0.endPoint : "\($0.endPoint) \($0.count)" }
    if places.count > Self.mostNamed { named.append("…") }
    return "refusals \(all)" + (named.isEmpty ? "" : " (\(named.joined(separator: ", ")))")
  }
}
