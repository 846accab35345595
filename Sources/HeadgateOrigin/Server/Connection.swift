import HeadgateThreads

/// The state of a connection. Used only on the loop's thread.
final class Connection {
  enum Phase {
    /// Waiting for a request's head.
    case head
    /// Reading a request's body.
    case body
    /// Paused within a request's body, until a release.
    case paused
    /// Waiting for the response's delay.
    case delayed
    /// Waiting for a release.
    case held
    /// There will be no response.
    case silent
    /// Sending the response.
    case answering
    /// Everything is sent; the client has time to read it and close.
    case lingering
    /// Over the limit: only the end of the connection is read.
    case refused
    /// The descriptor has been closed.
    case closed
  }

  let descriptor: Int32
  let endPoint: Int
  var phase: Phase

  /// The input. Data not consumed yet begins at `taken`.
  var input: [UInt8] = []
  var taken = 0
  var parser = RequestParser()
  var body = BodyReader(.none, keeps: false)

  /// The request being answered; nil between requests.
  var exchange: Exchange?
  /// The number of calls of `release` before the request arrived.
  var arrivalEpoch: UInt64 = 0

  /// The output. Data not sent yet begins at `sent`.
  var output: [UInt8] = []
  var sent = 0
  var source = PayloadSource.empty

  var interest: PollInterest = .read
  var alarm: IndexedHeap<Alarm>.Handle?

  init(descriptor: Int32, endPoint: Int, refused: Bool) {
    self.descriptor = descriptor
    self.endPoint = endPoint
    phase = refused ? .refused : .head
  }

  /// Whether the connection counts toward the script's limit.
  var takesPlace: Bool { phase != .refused && phase != .closed }

  /// Removes consumed data from the input.
  func dropTaken() {
    if taken == input.count {
      input.removeAll(keepingCapacity: input.capacity <= 16 * 1024)
      parser.dropped(taken)
      taken = 0
    } else if taken > 64 * 1024 {
      input.removeFirst(taken)
      parser.dropped(taken)
      taken = 0
    }
  }

  /// Removes sent data from the output.
  func dropSent() {
    output.removeAll(keepingCapacity: output.capacity <= 16 * 1024)
    sent = 0
  }
}

/// An entry in the loop's heap of timers.
struct Alarm: Comparable {
  enum Target {
    case connection(Int32)
    case waiter(UInt64)
    case listeners
  }

  var deadline: Deadline
  var sequence: UInt64
  var target: Target

  static func < (left: Alarm, right: Alarm) -> Bool {
    left.deadline != right.deadline ? left.deadline < right.deadline : left.sequence < right.sequence
  }

  static func == (left: Alarm, right: Alarm) -> Bool { left.sequence == right.sequence }
}
