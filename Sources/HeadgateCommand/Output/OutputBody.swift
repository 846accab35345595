import HeadgateDispatch
import HeadgateThreads

/// Stores a body for standard output: it is held until its turn, and then written as it arrives.
// Unchecked: `held` is used by the sink of its download, one call at a time, and once that has ended by the run.
final class OutputBody: BodyStore, @unchecked Sendable {
  private struct State {
    var written = 0
    /// Whether bytes are in the output, or about to be.
    var isShown = false
    var isWithdrawn = false
  }

  private let index: Int
  private let output: OutputWriter
  private let isHeld: Bool
  private let held: HeldBody
  private let state = Locked(State())

  /// - Parameter isHeld: Whether no byte is written before the body is complete, because it may have the wrong checksum.
  init(_ index: Int, isHeld: Bool, to output: OutputWriter) {
    (self.index, self.isHeld, self.output, held) = (index, isHeld, output, HeldBody(output.held))
  }

  /// How many of its bytes are in the output.
  var written: Int { state.withLock { $0.written } }

  let isPrompt = true

  func withdraw() -> Bool {
    state.withLock { state in
      state.isWithdrawn = !state.isShown
      return state.isWithdrawn
    }
  }

  func begin(_ validator: Validator) throws(DispatchError) {
    guard !state.withLock({ $0.isShown }) else {
      throw DispatchError(
        .connectionLost, phase: .receiving, detail: "the server does not send the rest of the body, but another one")
    }
    held.discard()
  }

  /// What this object has of the body is in order, and it can have nothing else.
  func goOn(after part: PartialBody) { state.withLock { $0.isWithdrawn = false } }

  func append(_ bytes: [UInt8]) throws(DispatchError) {
    do throws(OutputError) {
      guard mayWrite else { return try held.append(bytes) }
      try empty()
      try write(bytes)
    } catch {
      throw DispatchError(.fileFailed, phase: .writing, detail: "\(error)", underlyingError: error)
    }
  }

  /// Noted before the first byte is written, so that it can't be withdrawn in between.
  private var mayWrite: Bool {
    guard !isHeld, output.turns.has(index) else { return false }
    return state.withLock { state in
      if !state.isWithdrawn { state.isShown = true }
      return !state.isWithdrawn
    }
  }

  func checksum() throws(DispatchError) -> Checksum {
    throw DispatchError(.fileFailed, phase: .writing, detail: "the output can't be read again")
  }

  func finish(
    _ body: CompleteBody, _ completion: @escaping @Sendable (Result<String, DispatchError>) -> Void
  ) {
    do throws(DispatchError) {
      if !body.rest.isEmpty { try append(body.rest) }
      completion(.success("standard output"))
    } catch { completion(.failure(error)) }
  }

  func suspend() {}

  func leave(_ rest: [UInt8]) { drop() }

  func drop() {
    held.discard()
    state.withLock { $0.isWithdrawn = false }
  }

  /// Writes what is held.
  func empty() throws(OutputError) { try held.empty { piece throws(OutputError) in try write(piece) } }

  private func write(_ bytes: [UInt8]) throws(OutputError) {
    try output.write(bytes)
    state.withLock { $0.written += bytes.count }
  }
}
