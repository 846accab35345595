import HeadgateDispatch
import HeadgateThreads

/// Counts the URLs that wait for the addresses of a name. They hold no permit, so the gate knows nothing of them.
final class NameWaits: Sendable {
  private let counts = Locked([EndPoint: Int]())

  func enter(_ endPoint: EndPoint) { counts.withLock { $0[endPoint, default: 0] += 1 } }

  func leave(_ endPoint: EndPoint) {
    counts.withLock { counts in
      guard let count = counts[endPoint] else { return }
      counts[endPoint] = count > 1 ? count - 1 : nil
    }
  }

  var count: Int { counts.withLock { $0.values.reduce(0, +) } }

  /// A line for each of the first ten names, in their order, and one for the others.
  var description: String {
    let counts = counts.withLock { $0 }
    let names = counts.sorted { $0.key.description < $1.key.description }
    let shown = names.prefix(10).map { "\(ShownText.of($0.key.description))  waiting \($0.value): name look-up\n" }
    return shown.joined() + (names.count > 10 ? "and \(names.count - 10) other names are looked up\n" : "")
  }
}
