/// The connection of a program to a coordinator elsewhere: a socket, or a database. Its requests fail with
/// `coordinatorUnavailable` while the coordinator can't be reached; ``OutageHandler`` decides what happens then.
package protocol CoordinatorLink: AnyObject, Sendable {
  /// Requests a permit; see ``GateCoordinator/requestPermit(_:completion:)``.
  ///
  /// - Parameter completion: A cancellation may call it a second time: ``OutageHandler`` answers its own caller once, and
  ///   returns a permit that comes late.
  func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest

  /// The number of programs at the coordinator when it was last known, at least 1.
  var programs: Int { get }

  /// Calls `action` each time the coordinator can be reached again.
  func whenBack(_ action: @escaping @Sendable () -> Void)

  /// Ends waiting requests and all later ones with `shutDown`, then the connection.
  func shutDown()
}
