/// What opens sockets under a gate's limits: a transport, or each of its loops. See ``GateSockets``.
///
/// All calls come from any thread, with no lock held, and must return soon: leave word for the thread that the
/// connections belong to, and act there.
public protocol SocketHolder: AnyObject, Sendable {
  /// A socket is reserved for this holder, which was refused one: lease it now (``SocketLeases/lease(_:waits:)``), or
  /// call ``SocketLeases/stopWaiting(_:)``. No other holder gets it meanwhile. May come more than once.
  func socketIsReserved(_ route: SocketRoute)

  /// Somebody else needs a socket, or a limit was lowered: ask ``SocketLeases/mustClose(_:)`` for each idle connection, and
  /// close it if so.
  func reviewIdleConnections()

  /// The gate's limits changed. For transports that can't lease each socket, but can adjust to ``GateSockets/limits``. Only
  /// those hear of it that have joined to keep idle connections.
  func limitsChanged()
}

extension SocketHolder {
  /// Does nothing: for those whose sockets are all leased.
  public func limitsChanged() {}
}
