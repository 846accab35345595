import HeadgateThreads

/// The demo's work, the same for each way of doing it.
struct DemoWorkload: Sendable {
  static let endPoints = 3
  static let limit = 4
  static let delay = Duration.milliseconds(300)
  static let timeout = Duration.seconds(2)

  /// Short requests.
  let short: [String]
  /// Streams that last about three seconds.
  let streams: [String]

  /// Two hundred short requests, and two streams for each end-point, distributed evenly.
  init(ports: [UInt16]) {
    short = (0..<200).map { "http://127.0.0.1:\(ports[$0 % ports.count])/?\($0)" }
    streams = (0..<ports.count * 2).map { "http://127.0.0.1:\(ports[$0 % ports.count])/stream?chunks=30&every=100" }
  }

  var count: Int { short.count + streams.count }
}

/// The outcome as counted by a client.
struct DemoOutcome: Sendable, Equatable {
  var succeeded = 0
  var timedOut = 0
  var failed = 0
}
