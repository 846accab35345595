/// What the first interrupt says: what is waited for, and how to wait no longer.
enum InterruptText {
  private static let mostNamed = 3

  /// - Parameter running: How many requests run at which end-point.
  static func of(_ running: [(endPoint: String, count: Int)]) -> String {
    let busy = running.filter { $0.count > 0 }.sorted { ($1.count, $0.endPoint) < ($0.count, $1.endPoint) }
    let count = busy.reduce(0) { $0 + $1.count }
    guard count > 0 else { return "ending, since nothing runs; what waits is skipped" }
    var places = busy.prefix(mostNamed).map { "\($0.count) at \($0.endPoint)" }
    if busy.count > mostNamed { places.append("others at \(busy.count - mostNamed) more") }
    return "waiting for \(count) \(count == 1 ? "request that runs" : "requests that run") to end "
      + "(\(places.joined(separator: ", "))), however long they take; the rest is skipped; interrupt again to stop at once"
  }
}
