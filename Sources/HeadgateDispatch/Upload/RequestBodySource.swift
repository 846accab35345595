import HeadgateThreads

/// What came of a transport's ``RequestBodySource/read(into:whenReady:)``.
public enum BodyRead: Hashable, Sendable {
  /// So many bytes stand at the buffer's start: at least one, unless the buffer is empty.
  case bytes(Int)
  /// The body is whole: nothing follows.
  case end
  /// Nothing is there yet.
  case wait
  /// There will be no more, and what was sent is not whole: the exchange is to be ended as broken.
  case failed
}

/// The body of one exchange, from which the transport takes bytes as it has room for them.
///
/// One reader at a time. Reading never blocks: a file is read on threads for files, a sequence in a task of its own, each
/// one piece ahead.
public final class RequestBodySource: Sendable {
  private struct State {
    var pump: BodyPump
    var producer: (any BodyProducer)?
  }

  /// How many bytes there are; nil for a body whose end shows only when it comes.
  public let length: Int64?

  /// All bytes, for a body from memory; then a transport may take them from here and say so by ``sent(_:)`` or
  /// ``sentAll()``.
  public let whole: [UInt8]?

  /// Whether ``rewind()`` can succeed once something has been read.
  public let canRewind: Bool

  private let state: Locked<State>
  private let makeProducer: @Sendable () -> any BodyProducer
  private let report: UploadReport?

  init(_ bytes: [UInt8], canRewind: Bool, _ report: UploadReport?) {
    length = Int64(bytes.count)
    whole = bytes
    self.canRewind = canRewind
    self.report = report
    makeProducer = { NoProducer() }
    state = Locked(State(pump: BodyPump(bytes, isReplayable: canRewind)))
    report?.begin(total: length)
  }

  init(
    length: Int64?, canRewind: Bool, _ report: UploadReport?, _ makeProducer: @escaping @Sendable () -> any BodyProducer
  ) {
    self.length = length
    whole = nil
    self.canRewind = canRewind
    self.report = report
    self.makeProducer = makeProducer
    state = Locked(State(pump: BodyPump(length: length, isReplayable: canRewind)))
    report?.begin(total: length)
  }

  // MARK: The transport's side

  /// Takes the next bytes. What was taken counts as sent.
  ///
  /// - Parameters:
  ///   - buffer: Where to; filled from its start with what is there, not necessarily to its end.
  ///   - whenReady: Called once if the answer is `wait`, and only then: when it is worth asking again. On any thread,
  ///     perhaps before this returns.
  public func read(
    into buffer: UnsafeMutableRawBufferPointer, whenReady: @escaping @Sendable () -> Void
  ) -> BodyRead {
    let read = take(into: buffer, whenReady: whenReady)
    switch read {
    case .bytes(let count): sent(count)
    case .end: report?.ended()
    case .wait, .failed: break
    }
    return read
  }

  /// As ``read(into:whenReady:)`` for a transport that gathers the body before it sends it, and says what it has sent by
  /// ``sent(_:)``.
  public func take(
    into buffer: UnsafeMutableRawBufferPointer, whenReady: @escaping @Sendable () -> Void
  ) -> BodyRead {
    let (outcome, effects, generation) = state.withLock { state -> (BodyPump.Outcome, BodyPump.Effects, Int) in
      let (outcome, effects) = state.pump.read(into: buffer, whenReady)
      return (outcome, effects, state.pump.generation)
    }
    run(effects, generation)
    switch outcome {
    case .bytes(let count): return .bytes(count)
    case .end: return .end
    case .wait:
      report?.waits()
      return .wait
    case .failed: return .failed
    }
  }

  /// So many bytes more were sent, for a transport that does not ``read(into:whenReady:)``.
  public func sent(_ count: Int) { if count > 0 { report?.sent(count) } }

  /// All of it was sent, for a transport that does not ``read(into:whenReady:)``.
  public func sentAll() { report?.sentAll(length ?? state.withLock { $0.pump.taken }) }

  /// Goes back to the start, for a transport that has to send the body anew on another connection.
  ///
  /// - Returns: False if it can't be had again; then nothing has changed. Always true while nothing has been read.
  public func rewind() -> Bool {
    let (done, effects, old) = state.withLock { state -> (Bool, BodyPump.Effects, (any BodyProducer)?) in
      let before = state.pump.generation
      let (done, effects) = state.pump.rewind()
      return (done, effects, state.pump.generation == before ? nil : state.producer.take())
    }
    old?.stop()
    if done { report?.begin(total: length) }
    run(effects, 0)
    return done
  }

  // MARK: The exchange's side

  /// Ends it: nothing more goes out, the file is closed, the task that iterates is cancelled.
  func stop() {
    let (effects, producer) = state.withLock { ($0.pump.stop(), $0.producer.take()) }
    producer?.stop()
    run(effects, 0)
  }

  /// Why it could not be had, if so.
  var failure: (any Error)? { state.withLock { $0.pump.failure } }

  /// Whether the transport waits for the producer.
  var isWaiting: Bool { state.withLock { $0.pump.isWaiting } }

  // MARK: The producer's side

  func put(_ piece: [UInt8], last: Bool = false, of generation: Int) {
    run(state.withLock { $0.pump.put(piece, last: last, of: generation) }, generation)
  }

  func end(of generation: Int) { run(state.withLock { $0.pump.end(of: generation) }, generation) }

  func fail(_ error: any Error, of generation: Int) {
    run(state.withLock { $0.pump.fail(error, of: generation) }, generation)
  }

  private func run(_ effects: consuming BodyPump.Effects, _ generation: Int) {
    if effects.asks { ask(generation) }
    effects.wakes?()
  }

  private func ask(_ generation: Int) {
    if let producer = state.withLock({ $0.pump.generation == generation ? $0.producer : nil }) {
      return producer.ask(BodyFeed(source: self, generation: generation))
    }
    // Only one asks at a time: the pump has noted that it did.
    let made = makeProducer()
    let isWanted = state.withLock { state in
      guard state.pump.generation == generation, !state.pump.isStopped else { return false }
      state.producer = made
      return true
    }
    if isWanted { made.ask(BodyFeed(source: self, generation: generation)) } else { made.stop() }
  }
}
