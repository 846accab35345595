/// An object that opens sockets under a gate's limits: a transport, or each of its loops. See ``GateSockets``.
///
/// All calls come from any thread, with no lock held, and must return soon: notify the thread that owns the
/// connections, and act there.
public protocol SocketHolder: AnyObject, Sendable {
  /// A socket is reserved for this holder, which was refused one: lease it now (``SocketLeases/lease(_:waits:)``), or
  /// call ``SocketLeases/stopWaiting(_:)``. No other holder gets it meanwhile. May come more than once.
  func socketIsReserved(_ route: SocketRoute)

  /// Another request needs a socket, or a limit was lowered: call ``SocketLeases/mustClose(_:)`` for each idle
  /// connection, and close it if the result is true.
  func checkIdleConnections()

  /// The gate's limits changed. For transports that can't lease each socket, but can adjust to ``GateSockets/limits``.
  /// Called only for holders that joined with `keepsIdle`.
  func limitsChanged()
}

extension SocketHolder {
  /// Does nothing: for holders whose sockets are all leased.
  public func limitsChanged() {}
}
