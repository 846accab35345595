import HeadgateThreads

/// The result of ``RequestBodySource/read(into:whenReady:)``.
public enum BodyRead: Hashable, Sendable {
  /// The number of bytes written to the buffer: at least one, unless the buffer is empty.
  case bytes(Int)
  /// The body is complete.
  case end
  /// No bytes are available yet.
  case wait
  /// The body can't be completed: end the exchange as broken.
  case failed
}

/// The body of one exchange, read by the transport whenever it has room.
///
/// One reader at a time. Reading never blocks: a file is read on a file thread, a sequence in a task of its own, each
/// one piece ahead.
public final class RequestBodySource: Sendable {
  private struct State {
    var pump: BodyPump
    var producer: BodyProducer?
  }

  /// The length in bytes. Nil for a body of unknown length.
  public let length: Int64?

  /// All bytes of a body in memory. A transport may use these instead of reading, and report with ``sent(_:)`` or
  /// ``sentAll()``.
  public let whole: [UInt8]?

  /// Whether ``rewind()`` can succeed after something has been read.
  public let canRewind: Bool

  private let state: Locked<State>
  // Nil for a body in memory, which has no producer.
  private let makeProducer: (@Sendable () -> BodyProducer)?
  private let report: UploadReport?

  init(_ pump: BodyPump, _ report: UploadReport?, _ makeProducer: (@Sendable () -> BodyProducer)? = nil) {
    length = pump.length
    whole = pump.whole
    canRewind = pump.isReplayable
    self.report = report
    self.makeProducer = makeProducer
    state = Locked(State(pump: pump))
    report?.meter.begin(total: length)
  }

  // MARK: The transport's side

  /// Reads the next bytes. Bytes read count as sent.
  ///
  /// - Parameters:
  ///   - buffer: The destination, filled from its start with the bytes available, not necessarily to its end.
  ///   - whenReady: Called once, and only if the result is `wait`, when it is worth reading again. On any thread,
  ///     possibly before this method returns.
  public func read(
    into buffer: UnsafeMutableRawBufferPointer, whenReady: @escaping @Sendable () -> Void
  ) -> BodyRead {
    let read = take(into: buffer, whenReady: whenReady)
    switch read {
    case .bytes(let count): sent(count)
    case .end: report?.tell { $0.ended() }
    case .wait, .failed: break
    }
    return read
  }

  /// Like ``read(into:whenReady:)``, for a transport that buffers the body before it sends it, and reports the bytes
  /// sent with ``sent(_:)``.
  public func take(
    into buffer: UnsafeMutableRawBufferPointer, whenReady: @escaping @Sendable () -> Void
  ) -> BodyRead {
    let (read, effects, generation) = state.withLock { state -> (BodyRead, BodyPump.Effects, Int) in
      let (read, effects) = state.pump.read(into: buffer, whenReady)
      return (read, effects, state.pump.generation)
    }
    run(effects, generation)
    if read == .wait { report?.meter.waits() }
    return read
  }

  /// Reports bytes sent, for a transport that does not use ``read(into:whenReady:)``.
  public func sent(_ count: Int) { if count > 0 { report?.tell { $0.sent(count) } } }

  /// Reports that everything was sent, for a transport that does not use ``read(into:whenReady:)``.
  public func sentAll() {
    let total = length ?? state.withLock { $0.pump.taken }
    report?.tell { $0.sentAll(total) }
  }

  /// Rewinds to the start, for a transport that must send the body again on another connection.
  ///
  /// - Returns: False if the body can't be repeated; then nothing has changed. Always true before the first read.
  public func rewind() -> Bool {
    let (done, effects, old) = state.withLock { state -> (Bool, BodyPump.Effects, BodyProducer?) in
      let before = state.pump.generation
      let (done, effects) = state.pump.rewind()
      return (done, effects, state.pump.generation == before ? nil : state.producer.take())
    }
    old?.stop()
    if done { report?.meter.begin(total: length) }
    run(effects, 0)
    return done
  }

  // MARK: The exchange's side

  /// Ends the body: stops sending, closes the file, and cancels the task that iterates.
  func stop() {
    let (effects, producer) = state.withLock { ($0.pump.stop(), $0.producer.take()) }
    producer?.stop()
    run(effects, 0)
  }

  /// Why the body could not be read. Nil if there was no error.
  var failure: (any Error)? { state.withLock { $0.pump.failure } }

  /// Whether the transport waits for the producer.
  var isWaiting: Bool { state.withLock { $0.pump.isWaiting } }

  // MARK: The producer's side

  func put(_ piece: [UInt8], last: Bool = false, of generation: Int) {
    run(state.withLock { $0.pump.put(piece, last: last, of: generation) }, generation)
  }

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
    // No race with another call: the pump allows one request at a time.
    guard let made = makeProducer?() else { return }
    let isWanted = state.withLock { state in
      guard state.pump.generation == generation, !state.pump.isStopped else { return false }
      state.producer = made
      return true
    }
    if isWanted { made.ask(BodyFeed(source: self, generation: generation)) } else { made.stop() }
  }
}
