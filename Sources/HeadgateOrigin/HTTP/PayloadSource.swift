import HeadgateThreads

/// Generates the bytes of a payload piece by piece, as the socket accepts them, so that a gigabyte needs no memory.
struct PayloadSource {
  /// What happens to the connection after the payload.
  enum Ending: Sendable {
    /// The response is complete.
    case whole
    /// The response is truncated: close.
    case cut
    /// The response is truncated: reset.
    case reset
  }

  enum Step {
    case more
    case wait(until: Deadline)
    case end(Ending)
  }

  private enum State {
    case bytes([UInt8], position: Int, Ending)
    case pattern(position: Int, end: Int, Ending)
    case zeros(GzipZeros, left: Int)
    case chunks(left: Int, size: Int)
    case trickle(position: Int, end: Int)
    case ended(Ending)
  }

  /// The maximum number of bytes added in one step, except for chunks, which are added whole.
  static let pieceLimit = 32 * 1024

  private var state: State
  private var every = Duration.zero
  private var due = Deadline.distantPast
  // An HTTP/1.0 client gets the chunks without their sizes, and the end of the connection marks the end.
  private let isFramed: Bool

  /// A source that is finished.
  static let empty = PayloadSource(.bytes([]), isFramed: true)

  init(_ payload: Payload, isFramed: Bool) {
    self.isFramed = isFramed
    switch payload {
    case .bytes(let bytes): state = .bytes(bytes, position: 0, .whole)
    case .raw(let bytes): state = .bytes(bytes, position: 0, .cut)
    case .pattern(let count): state = .pattern(position: 0, end: count, .whole)
    case .zeros(let zeros): state = .zeros(zeros, left: zeros.zeros)
    case .partial(_, let sent, let ending): state = .pattern(position: 0, end: sent, ending)
    case .echo, .bodyCount, .reading: state = .ended(.whole)
    case .chunks(let count, let size, let interval):
      state = .chunks(left: count == 0 ? .max : count, size: size)
      every = interval
    case .trickle(let count, let interval):
      state = .trickle(position: 0, end: count)
      every = interval
    }
  }

  /// Skips the body, for a response to `HEAD`.
  mutating func omitBody() {
    switch state {
    case .bytes(_, _, let ending), .pattern(_, _, let ending): state = .ended(ending)
    default: state = .ended(.whole)
    }
  }

  /// Appends the next piece to `output`, or returns when the next one is due, or that there are no more.
  mutating func step(into output: inout [UInt8]) -> Step {
    switch state {
    case .ended(let ending):
      return .end(ending)

    case .bytes(let bytes, let position, let ending):
      let end = min(bytes.count, position + Self.pieceLimit)
      output.append(contentsOf: bytes[position..<end])
      state = end < bytes.count ? .bytes(bytes, position: end, ending) : .ended(ending)

    case .pattern(let position, let end, let ending):
      let next = min(end, position + Self.pieceLimit)
      Pattern.append(position..<next, to: &output)
      state = next < end ? .pattern(position: next, end: end, ending) : .ended(ending)

    case .zeros(let zeros, let left):
      if left == zeros.zeros { output.append(contentsOf: zeros.start) }
      let count = min(left, Self.pieceLimit)
      output.append(contentsOf: repeatElement(0, count: count))
      if left == count { output.append(contentsOf: zeros.end) }
      state = left == count ? .ended(.whole) : .zeros(zeros, left: left - count)

    case .chunks(let left, let size):
      if let pause { return .wait(until: pause) }
      if isFramed { output.append(contentsOf: (String(size, radix: 16) + "\r\n").utf8) }
      Pattern.append(0..<size, to: &output)
      if isFramed { output.append(contentsOf: "\r\n".utf8) }
      if left == 1, isFramed { output.append(contentsOf: "0\r\n\r\n".utf8) }
      state = left == 1 ? .ended(.whole) : .chunks(left: left == .max ? .max : left - 1, size: size)

    case .trickle(let position, let end):
      guard position < end else {
        state = .ended(.whole)
        return .more
      }
      if let pause { return .wait(until: pause) }
      Pattern.append(position..<position + 1, to: &output)
      state = position + 1 < end ? .trickle(position: position + 1, end: end) : .ended(.whole)
    }
    return .more
  }

  /// When the next piece is due; nil if it is due now, in which case the following one is due an interval later.
  private var pause: Deadline? {
    mutating get {
      guard every > .zero else { return nil }
      let now = Deadline.now
      if due > now { return due }
      // Counted from when this piece was due, so that intervals don't drift, but without a burst after missed ones.
      due = due == .distantPast ? now + every : max(due + every, now)
      return nil
    }
  }
}
