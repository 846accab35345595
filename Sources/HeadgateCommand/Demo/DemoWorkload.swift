import HeadgateThreads

/// A client in the demo.
package struct DemoClient: Sendable {
  let name: String
  /// What its numbers show.
  let explanation: String
  let run: @Sendable (DemoWorkload) async throws -> DemoOutcome

  package init(
    name: String, explanation: String, run: @escaping @Sendable (DemoWorkload) async throws -> DemoOutcome
  ) {
    (self.name, self.explanation, self.run) = (name, explanation, run)
  }
}

/// The demo's work, the same for each client.
package struct DemoWorkload: Sendable {
  static let endPoints = 3
  static let delay = Duration.milliseconds(300)
  /// The number of connections that an end-point serves at a time.
  package static let limit = 4
  /// The timeout of each request.
  package static let timeout = Duration.seconds(2)

  /// Short requests.
  package let short: [String]
  /// Streams that last about three seconds.
  package let streams: [String]

  /// Two hundred short requests, and two streams for each end-point, distributed evenly.
  init(ports: [UInt16]) {
    short = (0..<200).map { "http://127.0.0.1:\(ports[$0 % ports.count])/?\($0)" }
    streams = (0..<ports.count * 2).map { "http://127.0.0.1:\(ports[$0 % ports.count])/stream?chunks=30&every=100" }
  }

  var count: Int { short.count + streams.count }
}

/// The outcome as counted by a client.
package struct DemoOutcome: Sendable, Equatable {
  package var succeeded = 0
  package var timedOut = 0
  package var failed = 0

  package init() {}
}
