/// The message of the first interrupt: which requests the run waits for, and how to stop at once.
enum InterruptText {
  private static let mostNamed = 3

  /// - Parameter running: The number of running requests for each end-point.
  static func of(_ running: [(endPoint: String, count: Int)]) -> String {
    let busy = running.filter { $0.count > 0 }.sorted { ($1.count, $0.endPoint) < ($0.count, $1.endPoint) }
    let count = busy.reduce(0) { $0 + $1.count }
    guard count > 0 else { return "ending: no request is running; the rest is skipped" }
    var places = busy.prefix(mostNamed).map { "\($0.count) at \($0.endPoint)" }
    if busy.count > mostNamed { places.append("others at \(busy.count - mostNamed) more") }
    let (requests, time) = count == 1 ? ("request", "it takes") : ("requests", "they take")
    return "waiting for \(count) running \(requests) to finish (\(places.joined(separator: ", "))), "
      + "for as long as \(time); the rest is skipped; interrupt again to stop at once"
  }
}
