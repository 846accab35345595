import HeadgateOrigin
import HeadgateThreads
import Synchronization

/// The API of this example, on the local machine. It defers requests that come too fast.
final class CustomerServer: Sendable {
  private let origin: Origin
  private let pace: Pace

  var address: String { "http://127.0.0.1:\(origin.port)" }
  var deferred: Int { pace.deferred.load(ordering: .relaxed) }
  var refused: Int { origin.counts().refused }

  init() throws {
    let pace = Pace()
    self.pace = pace
    origin = try Origin(
      script: OriginScript(connectionLimit: 4) { request in
        guard pace.allows(at: .now) else { return .text("too many requests", status: 429) }
        switch request.path.split(separator: "/").last {
        case "13": return .text("no such customer", status: 404)
        case "27": return .text("<html>an error page with the status 200</html>")
        case let id: return .text(#"{"id": \#(id ?? "0"), "name": "Customer \#(id ?? "0")"}"#)
        }
      })
  }
}

/// Allows 25 requests in a fifth of a second. That is more than the API promises, because the time that a request takes
/// to arrive varies.
private final class Pace: Sendable {
  let deferred = Atomic(0)
  private let arrivals = Mutex<[Deadline]>([])

  func allows(at moment: Deadline) -> Bool {
    let isAllowed = arrivals.withLock { arrivals in
      arrivals.removeAll { moment - $0 > .milliseconds(200) }
      guard arrivals.count < 25 else { return false }
      arrivals.append(moment)
      return true
    }
    if !isAllowed { deferred.add(1, ordering: .relaxed) }
    return isAllowed
  }
}
