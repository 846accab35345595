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
  /// The length in bytes. Nil for a body of unknown length.
  public let length: Int64?

  /// All bytes of a body in memory; nil under a bandwidth limit, so that they are not sent at once. A transport may
  /// use these instead of reading, and report with ``sent(_:)`` or ``sentAll()``.
  public let whole: [UInt8]?

  /// Whether ``rewind()`` can succeed after something has been read.
  public let canRewind: Bool

  private let pump: Locked<BodyPump>
  // Nil for a body in memory, which has no producer.
  private let makeProducer: (@Sendable () -> BodyProducer)?
  private let report: UploadReport?

  init(_ pump: BodyPump, _ report: UploadReport?, _ makeProducer: (@Sendable () -> BodyProducer)? = nil) {
    length = pump.length
    // Under a bandwidth limit, it must not be sent at once.
    whole = report?.throttle == nil ? pump.whole : nil
    canRewind = pump.isReplayable
    self.report = report
    self.makeProducer = makeProducer
    self.pump = Locked(pump)
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
    if let report, let throttle = report.throttle, pump.withLock({ $0.bringsMore }),
      throttle.mustWait(left: buffer.count, whenReady)
    {
      report.meter.waits()
      return .wait
    }
    let (read, effects) = pump.withLock { $0.read(into: buffer, whenReady) }
    run(effects)
    if read == .wait { report?.meter.waits() }
    return read
  }

  /// Reports bytes sent, for a transport that does not use ``read(into:whenReady:)``.
  public func sent(_ count: Int) { if count > 0 { report?.tell { $0.sent(Int64(count)) } } }

  /// Reports that everything was sent, for a transport that does not use ``read(into:whenReady:)``.
  public func sentAll() {
    let total = length ?? pump.withLock { $0.taken }
    report?.tell { $0.sentAll(total) }
  }

  /// Rewinds to the start, for a transport that must send the body again on another connection.
  ///
  /// - Returns: False if the body can't be repeated; then nothing has changed. Always true before the first read.
  public func rewind() -> Bool {
    let (done, effects) = pump.withLock { $0.rewind() }
    if done { report?.meter.begin(total: length) }
    run(effects)
    return done
  }

  // MARK: The exchange's side

  /// Ends the body: stops sending, closes the file, and cancels the task that iterates.
  func stop() {
    apply { $0.stop() }
    // A transport that waits for bandwidth reads the end now.
    report?.throttle?.flow.end()
  }

  /// Why the body could not be read. Nil if there was no error.
  var failure: (any Error)? { pump.withLock { $0.failure } }

  /// Whether the transport waits for the producer.
  var isWaiting: Bool { pump.withLock { $0.isWaiting } }

  // MARK: The producer's side

  func apply(_ event: (inout BodyPump) -> BodyPump.Effects) { run(pump.withLock { event(&$0) }) }

  private func run(_ effects: consuming BodyPump.Effects) {
    effects.stops?.stop()
    if let generation = effects.asks { ask(generation) }
    effects.wakes?()
  }

  private func ask(_ generation: Int) {
    let feed = BodyFeed(source: self, generation: generation)
    if let producer = pump.withLock({ $0.producer(of: generation) }) { return producer.ask(feed) }
    // No race with another call: the pump allows one request at a time.
    guard let made = makeProducer?() else { return }
    if pump.withLock({ $0.use(made, of: generation) }) { made.ask(feed) } else { made.stop() }
  }
}
