import HeadgateDispatch
import HeadgateThreads

/// How many sockets are open where, for those who ask from other threads.
final class SocketCounts: Sendable {
  private let counts = Locked<[EndPoint: Int]>([:])

  func set(_ count: Int, of endPoint: EndPoint) {
    counts.withLock { $0[endPoint] = count == 0 ? nil : count }
  }

  func count(of endPoint: EndPoint) -> Int { counts.withLock { $0[endPoint] ?? 0 } }
}
