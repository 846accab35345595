import HeadgateDispatch
import HeadgateThreads

/// The end-points that metrics tell apart: the first so many. All others count as one, so that a program which visits the
/// whole web does not fill its metrics' back-end.
final class EndPointNames: Sendable {
  /// An end-point among the metrics' attributes.
  enum Name: Hashable, Sendable {
    case own(EndPoint)
    case other

    var attributes: [(String, String)] {
      switch self {
      case .own(let endPoint): [("server.address", endPoint.host), ("server.port", "\(endPoint.port)")]
      case .other: [("server.address", "_OTHER")]
      }
    }
  }

  private let most: Int
  private let known = Locked<Set<EndPoint>>([])

  init(most: Int) { self.most = max(0, most) }

  func name(of endPoint: EndPoint) -> Name {
    let isKnown = known.withLock { known in
      if known.contains(endPoint) { return true }
      guard known.count < most else { return false }
      known.insert(endPoint)
      return true
    }
    return isKnown ? .own(endPoint) : .other
  }
}
