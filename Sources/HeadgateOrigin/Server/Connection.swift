import HeadgateThreads

/// One connection, as far as the loop has got with it. All of it belongs to the loop's thread.
final class Connection {
  enum Phase {
    /// Waits for a request's head.
    case head
    /// Reads a request's body.
    case body
    /// Stopped in the middle of a request's body, until a release.
    case paused
    /// The answer waits for its delay.
    case delayed
    /// The answer waits for a release.
    case held
    /// There will be no answer.
    case silent
    /// The answer goes out.
    case answering
    /// All is sent, and the client is left the time to read it and to close.
    case lingering
    /// Over the limit: nothing is read but the end.
    case refused
    /// The descriptor is no longer ours.
    case closed
  }

  let descriptor: Int32
  let endPoint: Int
  var phase: Phase

  /// What has been received and not been taken yet begins at `taken`.
  var input: [UInt8] = []
  var taken = 0
  var parser = RequestParser()
  var body = BodyReader(.none, keeps: false)

  /// The request being answered; nil between requests.
  var exchange: Exchange?
  /// The calls of `release` before the request arrived.
  var arrivalEpoch: UInt64 = 0

  /// What has to be sent and has not been yet begins at `sent`.
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

  /// Whether the connection takes one of the places that the script's limit grants.
  var takesPlace: Bool { phase != .refused && phase != .closed }

  /// Frees the space of what has been taken from the input.
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

  /// Frees the space of what has been sent.
  func dropSent() {
    output.removeAll(keepingCapacity: output.capacity <= 16 * 1024)
    sent = 0
  }
}

/// Something that the loop has to do at a time: an entry of its heap of timers.
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
