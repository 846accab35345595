import HeadgateDispatch

/// A transport's connections under a gate's limits: at most one, which its own iterations close or use.
final class ScriptHolder: SocketHolder {
  private enum Work { case idle, review, use }

  private struct State {
    var leases: SocketLeases?
    var isOpen = false
    var isIdle = false
    var hasUsed = false
    var works: [Work] = []
    var isAtWork = false
  }

  let endPoint: EndPoint
  private let route: SocketRoute
  private let state = Unseen(State())

  /// - Parameter isOpen: Whether it has a connection, which is in use.
  init(_ gate: EndPointGate, isOpen: Bool = true) throws {
    endPoint = try DispatchRequest("http://a.test/").endPoint
    route = SocketRoute(to: endPoint)
    let leases = gate.sockets.join(self)
    state.use { $0.leases = leases }
    if isOpen, leases.lease(route) { state.use { $0.isOpen = true } }
  }

  var hasUsed: Bool { state.use { $0.hasUsed } }

  /// Its connection becomes idle.
  func idle() { add(.idle) }

  /// Opens a connection as soon as it may, and closes it.
  func useOnce() { add(.use) }

  func socketIsReserved(_ route: SocketRoute) { add(.use) }
  func checkIdleConnections() { add(.review) }

  /// Closes all.
  func leave() { state.use { $0.leases.take() }?.leave() }

  /// Performs the pending work, unless another thread is doing so, which then performs it next.
  private func add(_ work: Work) {
    let isFirst = state.use { state in
      state.works.append(work)
      defer { state.isAtWork = true }
      return !state.isAtWork
    }
    guard isFirst else { return }
    while let (work, leases) = next() { perform(work, leases) }
  }

  private func next() -> (Work, SocketLeases)? {
    state.use { state in
      guard let leases = state.leases, !state.works.isEmpty else {
        state.isAtWork = false
        return nil
      }
      return (state.works.removeFirst(), leases)
    }
  }

  private func perform(_ work: Work, _ leases: SocketLeases) {
    switch work {
    case .use where hasUsed: leases.stopWaiting(route)
    case .use:
      guard leases.lease(route) else { return }
      state.use { $0.hasUsed = true }
      leases.release(route)
    case .idle, .review:
      if work == .idle { state.use { $0.isIdle = true } }
      guard state.use({ $0.isIdle && $0.isOpen }), leases.mustClose(route) else { return }
      state.use { $0.isOpen = false }
      leases.release(route)
    }
  }
}
