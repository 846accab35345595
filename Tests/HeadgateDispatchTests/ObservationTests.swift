import HeadgateTesting
import HeadgateThreads
import Synchronization
import Testing

@testable import HeadgateDispatch

/// The serial line that calls one request's observers.
@Suite struct ObservationTests {
  /// Counts its calls, and records whether two calls ever overlapped.
  private final class Counting: DispatchObserver, RequestObserver {
    private let inside = Atomic<Bool>(false)
    let overlaps = Atomic<Int>(0)
    let told = Atomic<Int>(0)

    func requestStarted(_ start: inout RequestStart) -> (any RequestObserver)? { self }

    func waitingStarted(_ start: WaitingStart) {
      if inside.exchange(true, ordering: .relaxed) { overlaps.add(1, ordering: .relaxed) }
      told.add(1, ordering: .relaxed)
      inside.store(false, ordering: .relaxed)
    }
  }

  @Test("many threads with events: all are reported once, one call at a time")
  func manyThreads() async throws {
    let counting = Counting()
    let bench = try Bench(observers: [counting])
    let core = bench.dispatcher.core
    var request = try bench.request()
    let observation = try #require(Observation.begin(&request, .short, core, at: core.now))
    let endPoint = request.endPoint
    // Many short rounds, so that an event left in the line is not hidden by a later one.
    for round in 1...500 {
      let threads = try (0..<3).map { number in
        try ManagedThread.spawn(name: "bringer-\(number)") {
          for _ in 0..<10 { observation.add(.waits(endPoint, .submission), at: core.now) }
        }
      }
      for thread in threads { _ = try await thread.value(until: .after(.seconds(60))) }
      #expect(counting.told.load(ordering: .relaxed) == 30 * round)
    }
    #expect(counting.overlaps.load(ordering: .relaxed) == 0)
    let times = DispatchTimes(queued: .zero, total: .zero, exchange: ExchangeTimes())
    observation.add(.over(nil, times), at: core.now)
    #expect(bench.isClean())
  }
}
