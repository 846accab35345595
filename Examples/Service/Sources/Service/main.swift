import Headgate
import HeadgateOrigin
import Logging
import ServiceLifecycle

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Submits twenty requests, and sends its own process SIGTERM while they wait and run.
struct Work: Service {
  let dispatcher: URLDispatcher
  let server: Origin

  func run() async throws {
    let (counts, count) = AsyncStream.makeStream(of: Int.self)
    for number in 1...20 {
      try dispatcher.dispatch(server.url("/bytes/\(number)")) { result in
        count.yield((try? result.get().body.count) ?? 0)
      }
    }
    kill(getpid(), SIGTERM)
    print("fetched", await counts.prefix(20).reduce(0, +), "bytes in 20 responses, after SIGTERM")
    // This service is told to stop when the dispatcher has ended. A service that ends earlier makes the group fail.
    try await gracefulShutdown()
    do {
      _ = try await dispatcher.data(for: server.url("/late"))
    } catch {
      print("a late request:", error.code)
    }
  }
}

let server = try Origin(script: OriginScript(connectionLimit: 2, delay: .milliseconds(50)))
let dispatcher = try URLDispatcher(perHost: 2)
let work = Work(dispatcher: dispatcher, server: server)

// Services are stopped in reverse order, each after the previous one has ended.
let group = ServiceGroup(
  services: [work, DispatcherService(dispatcher: dispatcher)], gracefulShutdownSignals: [.sigterm],
  logger: Logger(label: "service"))
try await group.run()
print("the server saw at most", server.counts().peakSockets, "connections")
