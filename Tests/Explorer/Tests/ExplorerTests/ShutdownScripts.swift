import Exploring
import HTTPTypes

@testable import HeadgateDispatch

// Redirects to another end-point, interceptors, and the end of dispatchers and their gate.
extension Explorations.DispatchExplorationTests {
  // MARK: Redirects

  private static let elsewhere: HTTPFields = [.location: "http://b.test/next"]

  static let moves: [DispatchScript] = [
    DispatchScript(name: "a redirect elsewhere beside a cancel") { stage in
      try stage.submit()
      try stage.submit(host: "b")
      try stage.submit()
      return [
        {
          stage.server.next()?.respond(302, elsewhere)
          stage.playAll()
        }, { stage.cancel(0) },
      ]
    },
    DispatchScript(name: "a redirect elsewhere beside a shutdown") { stage in
      try stage.submit()
      try stage.submit(host: "b")
      return [{ stage.server.next()?.respond(302, elsewhere) }, { stage.dispatcher().beginShutDown(.now) }]
    },
    DispatchScript(
      name: "a redirect elsewhere beside its own dispatcher's shutdown", setting: .init(dispatchers: 2)
    ) { stage in
      try stage.submit(by: 1)
      try stage.submit(host: "b")
      return [
        {
          stage.server.next()?.respond(302, elsewhere)
          stage.playAll()
        }, { stage.dispatcher(1).beginShutDown(.graceful) },
      ]
    },
    DispatchScript(name: "two redirects that cross") { stage in
      try stage.submit("/1", host: "a")
      try stage.submit("/2", host: "b")
      return [
        { stage.server.next(for: "/1")?.respond(302, [.location: "http://b.test/next"]) },
        { stage.server.next(for: "/2")?.respond(302, [.location: "http://a.test/next"]) },
      ]
    } verdict: { stage in
      stage.consumer(0).end == nil && stage.consumer(1).end == nil ? nil : "one failed"
    },
  ]

  // MARK: Interceptors

  /// Processes each request for a moment, and has one sent again that the server does not know.
  private struct Interceptor: RequestInterceptor {
    func prepare(_ request: inout DispatchRequest, _ interception: Interception) async { await Task.yield() }

    func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool {
      response.statusCode == 401
    }

    func review(_ response: InterceptedResponse, _ interception: Interception) async -> InterceptorAnswer {
      .resend
    }
  }

  private static let intercepted = DispatchStage.Setting(interceptors: [Interceptor()])

  /// Finds what it has prepared outdated once.
  private final class Renewer: RequestInterceptor {
    private let isAsked = Unseen(false)

    func prepare(_ request: inout DispatchRequest, _ interception: Interception) async {}

    func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool {
      isAsked.use { isAsked in
        defer { isAsked = true }
        return !isAsked
      }
    }
  }

  /// A request that is prepared again under its permit, beside an event. Each run has an interceptor of its own.
  private static func renewed(
    _ name: String, _ event: @escaping @Sendable (DispatchStage) throws -> Void
  ) -> DispatchScript {
    DispatchScript(name: name, detours: 1, interceptor: { Renewer() }) { stage in
      [
        {
          guard (try? stage.make()) != nil else { return }
          Run.current?.start { try? event(stage) }
          stage.send(0)
          stage.playFirst()
        }
      ]
    }
  }

  static let interceptions: [DispatchScript] = [
    intercepted("an interceptor that returns beside a cancel") { $0.cancel(0) },
    intercepted("an interceptor that returns beside a shutdown") { $0.dispatcher().beginShutDown(.now) },
    intercepted("an interceptor that returns beside a drain") { $0.dispatcher().beginShutDown(.drain) },
    renewed("prepared again under its permit, beside a cancel") { $0.cancel(0) },
    renewed("prepared again under its permit, beside a shutdown") { $0.dispatcher().beginShutDown(.now) },
    renewed("prepared again under its permit, beside the end of its patience") { $0.timers.fire() },
    renewed("prepared again under its permit, beside a request of the interceptor") { stage in
      try stage.submit("/token", isForInterceptor: true)
      stage.playAll()
    },
    DispatchScript(
      name: "an interceptor that has a request sent again, beside a cancel", setting: intercepted, detours: 0
    ) {
      stage in
      [
        {
          guard (try? stage.submit()) != nil else { return }
          while !stage.consumer(0).hasEnded {
            if let exchange = stage.server.next() {
              Run.current?.start { stage.cancel(0) }
              return exchange.respond(401)
            }
            Here.yield()
          }
        }
      ]
    },
  ]

  // Its task is created with the request, and must be one of the run's.
  private static func intercepted(
    _ name: String, _ event: @escaping @Sendable (DispatchStage) -> Void
  ) -> DispatchScript {
    DispatchScript(name: name, setting: intercepted, detours: 1) { stage in
      [
        {
          guard (try? stage.make()) != nil else { return }
          Run.current?.start { event(stage) }
          stage.send(0)
        }
      ]
    }
  }

  // MARK: Shutdowns

  /// A request that was not answered before the shutdown ends with it.
  static func isShutDown(_ stage: DispatchStage) -> String? {
    let end = stage.consumer(0).end
    return end == .shutDown ? nil : "its end is \(end.map { "\($0)" } ?? "well")"
  }

  static let ends: [DispatchScript] = [
    DispatchScript(name: "submitted beside a shutdown") { stage in
      try stage.make()
      return [{ stage.send(0) }, { stage.dispatcher().beginShutDown(.now) }]
    } verdict: {
      isShutDown($0)
    },
    DispatchScript(name: "submitted beside its own dispatcher's shutdown", setting: .init(dispatchers: 2)) { stage in
      try stage.make(by: 1)
      return [{ stage.send(0) }, { stage.dispatcher(1).beginShutDown(.now) }]
    } verdict: {
      isShutDown($0)
    },
    DispatchScript(name: "two dispatchers take turns, one of them ends", setting: .init(dispatchers: 2)) { stage in
      try stage.submit()
      try stage.submit(by: 1)
      return [{ stage.playAll() }, { stage.dispatcher(1).beginShutDown(.now) }]
    },
    DispatchScript(name: "two dispatchers take turns, the gate ends", setting: .init(dispatchers: 2)) { stage in
      try stage.submit(by: 1)
      try stage.submit()
      return [{ stage.playAll() }, { stage.dispatcher().beginShutDown(.drain) }]
    } verdict: { stage in
      stage.consumer(0).end == nil && stage.consumer(1).end == nil ? nil : "one failed"
    },
    DispatchScript(name: "two shutdowns, the second goes further") { stage in
      try stage.submit()
      try stage.submit()
      return [
        { stage.dispatcher().beginShutDown(.drain) }, { stage.dispatcher().beginShutDown(.now) },
        { stage.playAll() },
      ]
    },
  ]
}
