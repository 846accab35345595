#if AsyncHTTPClient
import AsyncHTTPClient
import HeadgateThreads
import NIOCore
import NIOHTTPCompression

/// The clients, one for each connection limit in use.
///
/// async-http-client has one limit for all hosts, fixed when a client is created, hence one client for each limit. A
/// client with an outdated limit is shut down when the last exchange has returned it, because a shutdown would cancel
/// exchanges.
final class LentClients: Sendable {
  /// A client, for the duration of one exchange.
  struct Loan: Sendable {
    let client: HTTPClient
    /// The maximum number of connections to an end-point.
    let connections: Int
    fileprivate let number: Int
    fileprivate let clients: LentClients

    /// Returns the client. Call once.
    func release() { clients.takeBack(number) }
  }

  private struct Entry {
    let client: HTTPClient
    var loans = 0
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    // The number of the current client for each connection limit.
    var lent: [Int: Int] = [:]
    var lastNumber = 0
    var closing = 0
    var isShutDown = false
    var whenClosed: [@Sendable () -> Void] = []

    /// Removes the clients that are neither current nor in use, to be shut down.
    mutating func takeUnused() -> [HTTPClient] {
      let kept = Set(lent.values)
      var unused: [HTTPClient] = []
      for (number, entry) in entries where entry.loans == 0 && !kept.contains(number) {
        unused.append(entry.client)
        entries[number] = nil
      }
      closing += unused.count
      return unused
    }
  }

  private let make: @Sendable (Int) -> HTTPClient
  private let state = Locked(State())

  init(make: @escaping @Sendable (Int) -> HTTPClient) { self.make = make }

  /// A client with this connection limit; nil after the shutdown.
  func lend(connections: Int) -> Loan? {
    state.withLock { state in
      guard !state.isShutDown else { return nil }
      let number = state.lent[connections] ?? add(connections, to: &state)
      state.entries[number]?.loans += 1
      return state.entries[number].map {
        Loan(client: $0.client, connections: connections, number: number, clients: self)
      }
    }
  }

  private func add(_ connections: Int, to state: inout State) -> Int {
    state.lastNumber += 1
    state.entries[state.lastNumber] = Entry(client: make(connections))
    state.lent[connections] = state.lastNumber
    return state.lastNumber
  }

  private func takeBack(_ number: Int) {
    close(
      state.withLock { state in
        state.entries[number]?.loans -= 1
        return state.takeUnused()
      })
  }

  /// Keeps only clients with these limits. The others are shut down when they are returned.
  func keepOnly(_ limits: Set<Int>) {
    close(
      state.withLock { state in
        state.lent = state.lent.filter { limits.contains($0.key) }
        return state.takeUnused()
      })
  }

  /// Shuts down all clients, which cancels their exchanges, then calls `whenClosed`.
  func shutDown(whenClosed: @escaping @Sendable () -> Void) {
    let (clients, isClosed) = state.withLock { state -> ([HTTPClient], Bool) in
      state.isShutDown = true
      let clients = state.entries.values.map(\.client)
      (state.entries, state.lent) = ([:], [:])
      state.closing += clients.count
      if state.closing > 0 { state.whenClosed.append(whenClosed) }
      return (clients, state.closing == 0)
    }
    if isClosed { whenClosed() }
    close(clients)
  }

  private func close(_ clients: [HTTPClient]) {
    for client in clients { client.shutdown { [self] _ in closed() } }
  }

  private func closed() {
    let calls = state.withLock { state -> [@Sendable () -> Void] in
      state.closing -= 1
      guard state.closing == 0 else { return [] }
      defer { state.whenClosed = [] }
      return state.whenClosed
    }
    for call in calls { call() }
  }
}

extension LentClients {
  /// Creates a client in which everything that the dispatcher does itself is disabled.
  static func client(
    of configuration: AsyncHTTPClientTransport.Configuration, connections: Int, on loop: any EventLoop,
    _ registry: ExchangeRegistry
  ) -> HTTPClient {
    var own = HTTPClient.Configuration(
      tlsConfiguration: configuration.tls, redirectConfiguration: .disallow,
      timeout: .init(connect: .nanoseconds(max(1_000_000, configuration.connectTimeout.wholeNanoseconds))),
      decompression: .enabled(limit: .none))
    own.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
    // Otherwise the client would retry until its own timeout before it reports that a server is unreachable.
    own.connectionPool.retryConnectionEstablishment = false
    own.httpVersion = .http1Only
    own.networkFrameworkWaitForConnectivity = false
    // The dispatcher's observers see the request; tracing here would create a second span.
    own.tracing.tracer = nil
    own.http1_1ConnectionDebugInitializer = { ConnectionTap.add(to: $0, registry) }
    return HTTPClient(eventLoopGroup: loop, configuration: own)
  }
}
#endif
