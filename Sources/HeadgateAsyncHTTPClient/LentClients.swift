#if AsyncHTTPClient
import AsyncHTTPClient
import HeadgateThreads
import NIOCore
import NIOHTTPCompression

/// The clients, one for each number of connections that an end-point may have.
///
/// async-http-client has one limit for all hosts, fixed when a client is made: hence a client for each limit. One whose
/// limit holds no longer is shut down when the last exchange has given it back, since a shutdown would cancel it.
final class LentClients: Sendable {
  /// A client for the time of one exchange.
  struct Loan: Sendable {
    let client: HTTPClient
    /// How many connections it opens to an end-point at most.
    let connections: Int
    fileprivate let number: Int
    fileprivate let clients: LentClients

    /// Gives it back, once.
    func giveBack() { clients.takeBack(number) }
  }

  private struct Entry {
    let client: HTTPClient
    var loans = 0
  }

  private struct State {
    var entries: [Int: Entry] = [:]
    // By the number of connections, which one is lent.
    var lent: [Int: Int] = [:]
    var lastNumber = 0
    var closing = 0
    var isShutDown = false
    var whenClosed: [@Sendable () -> Void] = []

    /// Those that are neither lent any more nor under way, to be shut down.
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

  /// A client that opens so many connections to an end-point at most; nil after the shutdown.
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

  /// Lends no client but those of these limits from now on, and shuts the others down when they are given back.
  func keepOnly(_ limits: Set<Int>) {
    close(
      state.withLock { state in
        state.lent = state.lent.filter { limits.contains($0.key) }
        return state.takeUnused()
      })
  }

  /// Shuts all of them down, with what is under way; then calls `whenClosed`.
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
  /// A client that leaves to the dispatcher what is the dispatcher's.
  static func client(
    of configuration: AsyncHTTPClientTransport.Configuration, connections: Int, on loop: any EventLoop,
    _ registry: ExchangeRegistry
  ) -> HTTPClient {
    var own = HTTPClient.Configuration(
      tlsConfiguration: configuration.tls, redirectConfiguration: .disallow,
      timeout: .init(connect: .nanoseconds(max(1_000_000, configuration.connectTimeout.wholeNanoseconds))),
      decompression: .enabled(limit: .none))
    own.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
    // It would try again until its own time-out, and only then say that nobody is there.
    own.connectionPool.retryConnectionEstablishment = false
    own.httpVersion = .http1Only
    own.networkFrameworkWaitForConnectivity = false
    // Observers see the request; two spans would tell of one exchange.
    own.tracing.tracer = nil
    own.http1_1ConnectionDebugInitializer = { ConnectionTap.add(to: $0, registry) }
    return HTTPClient(eventLoopGroup: loop, configuration: own)
  }
}
#endif
