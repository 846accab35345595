import HeadgateOrigin
import HeadgateThreads
import Synchronization

/// The language model of this example, on the local machine. It counts tokens, and refuses what exceeds its limit.
final class Provider: Sendable {
  private let origin: Origin
  private let meter: Meter

  var address: String { origin.url("/v1/completions") }
  var counted: Int { meter.state.withLock { $0.counted } }
  var refused: Int { meter.state.withLock { $0.refused } }

  init() throws {
    let meter = Meter()
    self.meter = meter
    origin = try Origin(
      script: OriginScript(delay: .milliseconds(20)) { _ in
        .reading { prompt in
          // Every answer has the same length, which is less than the request allows.
          let tokens = prompt.count / 4 + 500
          guard meter.admits(tokens, at: .now) else { return .text("out of tokens", status: 429) }
          return .text(#"{"text": "In short: …", "usage": {"totalTokens": \#(tokens)}}"#)
        }
      })
  }
}

/// Admits 10,000 tokens in half a second. The client sends them only within a whole second, because the time that a
/// request takes to arrive varies.
private final class Meter: Sendable {
  struct State {
    var admitted: [(moment: Deadline, tokens: Int)] = []
    var counted = 0
    var refused = 0
  }

  let state = Mutex(State())

  func admits(_ tokens: Int, at moment: Deadline) -> Bool {
    state.withLock { state in
      state.admitted.removeAll { moment - $0.moment > .milliseconds(500) }
      guard state.admitted.map(\.tokens).reduce(tokens, +) <= 10_000 else {
        state.refused += 1
        return false
      }
      state.admitted.append((moment, tokens))
      state.counted += tokens
      return true
    }
  }
}
