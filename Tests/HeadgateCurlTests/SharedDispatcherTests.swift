import Headgate
import HeadgateOrigin
import Testing

/// The dispatcher of the process, and its successor after its end.
@Suite struct SharedDispatcherTests {
  @Test(
    "the end of the shared dispatcher does not affect its successor, which may be made by a completion of the first")
  func nextShared() async throws {
    let origin = try Origin()
    let answers = LockedBox<[Int?]>([])
    let (held, again) = try (DispatchRequest(origin.url("/hold")), DispatchRequest(origin.url("/bytes/3")))
    await withCheckedContinuation { continuation in
      URLDispatcher.shared.dispatch(held) { first in
        URLDispatcher.shared.dispatch(again) { second in
          answers.withLock { $0 = [try? first.get().statusCode, try? second.get().statusCode] }
          continuation.resume()
        }
      }
      URLDispatcher.disposeShared()
    }
    #expect(answers.withLock { $0 } == [nil, 200])
    URLDispatcher.disposeShared()
    origin.stop()
  }

  @Test("the common gate of shared dispatchers starts afresh, and makes no calls under a lock")
  func sharedAfresh() throws {
    let gate = URLDispatcher.shared.gate
    URLDispatcher.disposeShared()
    let endPoint = try EndPoint(host: "127.0.0.1", port: 9)
    gate.stop(endPoint)
    let seen = LockedBox(false)
    _ = gate.requestPermit(for: endPoint) { permit in
      seen.withLock { $0 = URLDispatcher.shared.gate === gate }
      _ = try? permit.get().release()
    }
    #expect(!seen.withLock { $0 })
    #expect(URLDispatcher.shared.limits.endPoint == .standard && !gate.isStopped(endPoint) && seen.withLock { $0 })
    URLDispatcher.disposeShared()
  }
}
