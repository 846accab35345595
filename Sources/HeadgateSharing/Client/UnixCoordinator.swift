import HeadgateGate
import HeadgateThreads

/// Grants permits that the programs of one user on one machine share. No server needs to be set up.
///
///     let dispatcher = try URLDispatcher(limits: limits, coordinator: UnixCoordinator())
///
/// All programs with this coordinator, `headgate fetch --share unix` and `headgate hold` share the limits. The first
/// one starts a ``PermitServer``; if that server ends, another program starts the next one. A permit is a pipe that the
/// program holds open, so a program that dies returns its permits: they are granted again about 20 ms later. If
/// programs have configured different limits for an end-point, the strictest apply.
///
/// A permit takes about 0.12 ms to get and return (measured). Permits are granted in order of arrival at the server.
public final class UnixCoordinator: PauseSharing {
  /// The folder through which permits are shared.
  public let folder: PermitFolder
  private let outage: OutagePolicy
  private let link: UnixLink
  private let handler: OutageHandler

  /// Creates a coordinator. It connects at its first use.
  ///
  /// - Parameters:
  ///   - folder: The folder through which permits are shared.
  ///   - outage: Which requests may start while no server can be reached or started, for example because the folder
  ///     can't be used.
  public convenience init(folder: PermitFolder = .user, outage: OutagePolicy = .failClosed()) {
    self.init(folder: folder, outage: outage) { folder throws(SharingError) in _ = try PermitServer.start(in: folder) }
  }

  /// - Parameter startServer: Starts a server, unless another one serves the folder.
  package init(
    folder: PermitFolder, outage: OutagePolicy,
    startServer: @escaping @Sendable (PermitFolder) throws(SharingError) -> Void
  ) {
    (self.folder, self.outage) = (folder, outage)
    link = UnixLink(folder, startServer)
    handler = OutageHandler(link, outage)
  }

  deinit { shutDown() }

  /// A readable text: `permits shared in /tmp/headgate-1000; without it nothing starts, …`
  public var description: String { "permits shared in \(folder); \(outage)" }

  /// Requests a permit; see `GateCoordinator`.
  public func requestPermit(
    _ demand: SharedDemand, completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) -> any SharedPermitRequest {
    handler.requestPermit(demand, completion: completion)
  }

  package func share(_ pause: SharedPause) { link.share(pause) }

  package func whenPaused(_ hear: @escaping @Sendable (SharedPause) -> Bool) { link.whenPaused(hear) }

  /// Ends waiting requests with the error `shutDown`, and closes the connection. Permits that are held stay valid.
  public func shutDown() { handler.shutDown() }
}
