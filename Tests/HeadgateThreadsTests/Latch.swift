import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// How long a test waits for an expected event, before it fails instead of hanging.
let generous = Duration.seconds(60)

/// Opens when it has been counted down to zero. Any number of threads may wait for it, before and after.
final class Latch: Sendable {
  private struct State {
    var count: Int
    var sleepers: [Parker] = []
  }

  private let state: Locked<State>

  init(_ count: Int = 1) { state = Locked(State(count: count)) }

  func countDown() {
    let sleepers = state.withLock { state in
      state.count -= 1
      return state.count == 0 ? state.sleepers : []
    }
    for sleeper in sleepers { sleeper.unpark() }
  }

  /// Returns true once it is open, or false if it stayed closed for a minute.
  func wait() -> Bool {
    let parker = Parker()
    let isOpen = state.withLock { state in
      if state.count > 0 { state.sleepers.append(parker) }
      return state.count <= 0
    }
    return isOpen || parker.park(until: .after(generous))
  }
}

/// Events in their order.
final class Record<Event: Sendable>: Sendable {
  private let state = Locked<[Event]>([])

  var events: [Event] { state.withLock { $0 } }

  func add(_ event: Event) {
    state.withLock { $0.append(event) }
    Changes.shared.note()
  }
}

/// Counts the living tokens.
final class Census: Sendable {
  final class Token: Sendable {
    private let census: Census

    fileprivate init(_ census: Census) {
      self.census = census
      census.count.withLock { $0 += 1 }
    }

    deinit {
      census.count.withLock { $0 -= 1 }
      Changes.shared.note()
    }

    /// Keeps the token alive in the closure that calls this.
    func hold() {}
  }

  private let count = Locked(0)

  var alive: Int { count.withLock { $0 } }

  func token() -> Token { Token(self) }
}

/// Runs `body` on several threads at once, with each thread's number, and waits until all have returned.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
  let started = Latch(count)
  let ended = Latch(count)
  for number in 0..<count {
    _ = try WorkerThread(name: "test-\(number)") {
      started.countDown()
      _ = started.wait()
      body(number)
      ended.countDown()
    }
  }
  try #require(ended.wait(), "a thread did not come to its end")
}

/// A number that differs between living threads.
func threadNumber() -> UInt {
  #if canImport(Darwin)
  UInt(bitPattern: pthread_self())
  #else
  UInt(pthread_self())
  #endif
}

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
