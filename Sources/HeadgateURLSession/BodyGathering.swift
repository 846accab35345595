import HeadgateDispatch
import HeadgateThreads

/// Collects a body in memory, as URLSession requires. Never blocks; continues whenever the body has more data.
///
/// Rejected: a stream. The session would read it on its own queue, where a body without data blocks all others, and
/// Foundation on Linux treats a stream without data at the moment as ended.
final class BodyGathering: Sendable {
  typealias Completion = @Sendable (Result<[UInt8], DispatchError>) -> Void

  private static let pieceSize = 64 * 1024

  private struct State {
    var bytes: [UInt8] = []
    var isReading = false
    var isAskedAgain = false
    var completion: Completion?
  }

  private let source: RequestBodySource
  private let cap: Int
  private let state: Locked<State>

  init(_ source: RequestBodySource, upTo cap: Int, _ completion: @escaping Completion) {
    self.source = source
    self.cap = cap
    state = Locked(State(completion: completion))
  }

  /// Starts reading, or continues after a wait.
  func read() {
    if let length = source.length, length > cap { return finish(.failure(tooLarge)) }
    // A source that is ready at once calls back inside `take`: the loop continues then, without recursion.
    let isFirst = state.withLock { state in
      defer { (state.isReading, state.isAskedAgain) = (true, state.isReading) }
      return !state.isReading
    }
    guard isFirst else { return }
    repeat { takeAll() } while goesOn()
  }

  private func goesOn() -> Bool {
    state.withLock { state in
      defer { (state.isReading, state.isAskedAgain) = (state.isAskedAgain, false) }
      return state.isAskedAgain
    }
  }

  private func takeAll() {
    while true {
      var piece = [UInt8](repeating: 0, count: Self.pieceSize)
      switch piece.withUnsafeMutableBytes({ source.take(into: $0) { [self] in read() } }) {
      case .wait: return
      case .failed: return finish(.failure(DispatchError(.transportFailed, phase: .sending, detail: "no body")))
      case .end:
        let bytes = state.withLock { state in
          defer { state.bytes = [] }
          return state.bytes
        }
        return finish(.success(bytes))
      case .bytes(let count):
        let total = state.withLock { state in
          state.bytes += piece[..<count]
          return state.bytes.count
        }
        guard total <= cap else { return finish(.failure(tooLarge)) }
      }
    }
  }

  private var tooLarge: DispatchError {
    DispatchError(
      .unsupported, phase: .sending,
      detail: "URLSession holds bodies in memory, at most \(cap) bytes: send this one over libcurl, or in chunks")
  }

  private func finish(_ result: Result<[UInt8], DispatchError>) {
    let completion = state.withLock { $0.completion.take() }
    completion?(result)
  }
}
