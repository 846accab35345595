// A web service that sends a request to another server for each request that it receives. When it is told to stop, it
// answers the requests that it has accepted.

import Headgate
import HeadgateFlow
import HeadgateOrigin
import Hummingbird
import Logging
import ServiceLifecycle

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// The other server tolerates two connections.
let source = try Origin(
  script: OriginScript(connectionLimit: 2, delay: .milliseconds(50)) { request in
    request.path == "/cities/atlantis" ? .text("no such city", status: 404) : .text("sunny")
  })
let dispatcher = try URLDispatcher(perHost: 2)
let routes = WeatherRoutes(dispatcher: dispatcher, source: "http://127.0.0.1:\(source.port)")

/// Twenty visitors at once, who tell the service to stop while their requests run and wait.
@Sendable func visit(_ port: Int) async throws {
  let visitors = try URLDispatcher(perHost: 20)
  print("atlantis:", try await visitors.data(for: "http://127.0.0.1:\(port)/weather/atlantis").statusCode)
  async let answers = (1...20).mapConcurrently(limit: 20) { number in
    try await visitors.data(for: "http://127.0.0.1:\(port)/weather/city-\(number)").text
  }
  while dispatcher.gate.counts.running + dispatcher.gate.counts.waiting < 10 {
    try await Task.sleep(for: .milliseconds(1))
  }
  kill(getpid(), SIGTERM)
  print("sunny in", try await answers.count { $0 == "sunny" }, "of 20 cities, after SIGTERM")
}

var app = Application(
  router: routes.router(),
  configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
  onServerRunning: { channel in
    guard let port = channel.localAddress?.port else { return }
    Task { try await visit(port) }
  },
  logger: Logger(label: "web", factory: { _ in SwiftLogNoOpLogHandler() }))
// Services stop in reverse order: first the server, which is last in the group, and then the dispatcher.
app.addServices(DispatcherService(dispatcher: dispatcher))
try await app.runService()
print("the other server left", source.counts().refused, "connections unanswered")
