import Synchronization

/// What the documented code prints, line by line, to be compared with what its page says.
final class Printed: Sendable {
  private let lines = Mutex<[String]>([])

  var text: String { lines.withLock { $0.joined(separator: "\n") } }

  func add(_ items: [Any]) {
    let line = items.map { "\($0)" }.joined(separator: " ")
    lines.withLock { $0.append(line) }
  }
}
