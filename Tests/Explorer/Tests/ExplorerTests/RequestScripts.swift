import Exploring
import HTTPTypes
import HeadgateFlow
import HeadgateThreads

@testable import HeadgateDispatch

// The possible events of a request.
extension Explorations.DispatchExplorationTests {
  // MARK: Cancellations

  static let cancels: [DispatchScript] = [
    DispatchScript(name: "submitted beside a cancel") { stage in
      try stage.make()
      return [{ stage.send(0) }, { stage.cancel(0) }]
    },
    DispatchScript(name: "submitted with a deadline beside a cancel") { stage in
      try stage.make { $0.deadline = .seconds(1) }
      return [{ stage.send(0) }, { stage.cancel(0) }]
    },
    DispatchScript(name: "submitted to wait beside a cancel") { stage in
      try stage.submit()
      try stage.make()
      return [{ stage.send(1) }, { stage.cancel(1) }]
    },
    DispatchScript(name: "submitted to a full end-point beside a cancel") { stage in
      try stage.submit()
      try stage.make()
      return [{ stage.send(1) }, { stage.cancel(1) }, { stage.playAll() }]
    },
    DispatchScript(name: "a cancel beside the response") { stage in
      try stage.submit()
      try stage.submit()
      return [{ stage.playAll(pieces: 1) }, { stage.cancel(0) }]
    },
    DispatchScript(name: "two cancels beside the response") { stage in
      try stage.submit()
      return [{ stage.playAll(pieces: 1) }, { stage.cancel(0) }, { stage.cancel(0) }]
    },
    DispatchScript(name: "a cancel beside a grant") { stage in
      try stage.submit()
      try stage.submit()
      return [{ stage.playAll() }, { stage.cancel(1) }]
    },
    DispatchScript(name: "a cancel beside a grant, and no answer") { stage in
      try stage.submit()
      try stage.submit()
      return [{ stage.server.next()?.respond() }, { stage.cancel(1) }]
    },
    DispatchScript(name: "all of an end-point cancelled beside the response") { stage in
      try stage.submit()
      try stage.submit()
      return [{ stage.playAll() }, { stage.dispatcher().cancelAll(to: stage.operation(0).request.endPoint) }]
    },
    DispatchScript(name: "a body that is paused, beside a cancel") { stage in
      try stage.submit(pauses: true)
      return [{ stage.playAll(pieces: 2) }, { stage.cancel(0) }, { stage.resumeEach(0, pieces: 1) }]
    },
    DispatchScript(name: "a body that is paused goes on from its start", detours: 3) { stage in
      try stage.make(pauses: true)
      return [{ stage.send(0) }, { stage.playFirst(pieces: 1) }, { stage.resumeEach(0, pieces: 1) }]
    } verdict: { stage in
      stage.consumer(0).end == nil ? nil : "it failed"
    },
    DispatchScript(name: "a body that is paused goes on") { stage in
      try stage.submit(pauses: true)
      return [{ stage.playAll(pieces: 2) }, { stage.resumeEach(0, pieces: 2) }]
    } verdict: { stage in
      stage.consumer(0).end == nil ? nil : "it failed"
    },
  ]

  // MARK: Limits on time

  static let times: [DispatchScript] = [
    DispatchScript(name: "a deadline beside a grant") { stage in
      try stage.submit()
      try stage.submit { $0.deadline = .seconds(1) }
      return [{ stage.playAll() }, { stage.timers.fire() }]
    },
    DispatchScript(name: "a time-out beside the response") { stage in
      try stage.submit { $0.timeout = .seconds(1) }
      try stage.submit()
      return [{ stage.playAll(pieces: 1) }, { stage.timers.fire() }]
    },
    DispatchScript(name: "a time-out beside a wait for a socket") { stage in
      try stage.submit { $0.timeout = .seconds(1) }
      return [{ stage.server.next()?.respond(waits: true) }, { stage.timers.fire() }]
    },
    DispatchScript(name: "a start beside its own response and a time-out") { stage in
      try stage.make { $0.timeout = .seconds(1) }
      return [{ stage.send(0) }, { stage.playFirst() }, { stage.timers.fire() }]
    },
    DispatchScript(name: "silence beside a piece of the body, with another attempt") { stage in
      try stage.submit {
        $0.idleTimeout = .seconds(1)
        $0.retry = once
      }
      return [{ stage.playAll(pieces: 1) }, { stage.timers.fire() }]
    },
  ]

  // MARK: Backoffs

  static let once = RetryPolicy(attempts: 2, backoff: .constant(.seconds(1)), budget: .none)
  private static let lost = DispatchError(.connectionLost)

  static let backoffs: [DispatchScript] = [
    DispatchScript(name: "a failure that is followed by a backoff, beside a cancel") { stage in
      try stage.submit { $0.retry = once }
      try stage.submit()
      return [{ stage.server.next()?.end(lost) }, { stage.cancel(0) }]
    },
    DispatchScript(name: "a response that breaks off and is sent again, beside a cancel") { stage in
      try stage.submit { $0.retry = once }
      return [{ stage.server.next()?.respond(pieces: 1, failure: lost) }, { stage.cancel(0) }]
    },
    DispatchScript(name: "a backoff that ends beside a cancel") { stage in
      try stage.submit { $0.retry = once }
      stage.server.next()?.respond(503)
      return [{ stage.timers.fire() }, { stage.cancel(0) }]
    },
    DispatchScript(name: "a backoff that ends beside a shutdown") { stage in
      try stage.submit { $0.retry = once }
      stage.server.next()?.respond(503)
      return [{ stage.timers.fire() }, { stage.dispatcher().beginShutDown(.now) }]
    } verdict: {
      isShutDown($0)
    },
    DispatchScript(name: "a backoff that ends beside its own dispatcher's shutdown", setting: .init(dispatchers: 2)) {
      stage in
      try stage.submit(by: 1) { $0.retry = once }
      stage.server.next()?.respond(503)
      return [{ stage.timers.fire() }, { stage.dispatcher(1).beginShutDown(.now) }]
    } verdict: {
      isShutDown($0)
    },
    DispatchScript(
      name: "a backoff that ends beside its own dispatcher's drain and a stop by hand", setting: .init(dispatchers: 2)
    ) { stage in
      try stage.submit(by: 1) { $0.retry = once }
      let endPoint = stage.operation(0).request.endPoint
      stage.server.next()?.respond(503)
      stage.expect { stage.consumer(0).hasEnded ? nil : "it waits for a stopped end-point, and nothing ends it" }
      return [
        { stage.timers.fire() },
        {
          stage.dispatcher(1).beginShutDown(.drain)
          stage.gate.stop(endPoint)
        },
      ]
    },
    DispatchScript(name: "a backoff that begins beside a shutdown", setting: .init(dispatchers: 2)) { stage in
      try stage.submit(by: 1) { $0.retry = once }
      return [{ stage.server.next()?.respond(503) }, { stage.dispatcher(1).beginShutDown(.now) }]
    },
    DispatchScript(name: "a backoff that begins beside the gate's shutdown") { stage in
      try stage.submit { $0.retry = once }
      return [{ stage.server.next()?.respond(503) }, { stage.dispatcher().beginShutDown(.drain) }]
    },
  ]
}
