import Headgate
import ServiceLifecycle

/// A dispatcher as a service. When the program is told to stop, the dispatcher accepts no more requests, finishes those
/// that it has accepted, and closes its connections.
struct DispatcherService: Service {
  let dispatcher: URLDispatcher

  func run() async throws {
    try await gracefulShutdown()
    await dispatcher.shutDown(.drain)
  }
}
