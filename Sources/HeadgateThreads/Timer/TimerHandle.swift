/// A call scheduled by a timer, once or repeatedly: the handle to reschedule or cancel it.
///
/// The handle need not be kept: the call is made even if it is released.
public final class TimerHandle: Sendable {
  enum Phase: UInt8, Sendable {
    /// Waits for its time, or for its place of delivery to begin it.
    case pending
    case running
    /// Over: the call was made, or cancelled.
    case finished, cancelled
  }

  /// The handle's mutable state, guarded by the lock of `calls`.
  struct State {
    var phase = Phase.pending
    // The current arming of the timer. Late events of an earlier arming are recognized by it.
    var round: UInt64 = 0
    var deadline: Deadline
    var timer: ScheduledTimer?
    // The time to which `reschedule`, called during the call, has moved the next one.
    var moved: Deadline?
    var missed = 0
    // Its index in the registry.
    var place = 0
    // Released as soon as the timer has ended.
    var body: Closure?
    var onDrop: (@Sendable () -> Void)?
  }

  let calls: TimerCalls
  let service: any TimerService
  let place: Delivery
  let repetition: TimerRepetition?
  let ownership: TimerOwnership?
  // Unsafe: accessed only under the lock of `calls`. All handles of a timer thread share that lock, because most steps
  // also change its registry.
  nonisolated(unsafe) var state: State

  init(
    calls: TimerCalls, service: any TimerService, place: Delivery, repetition: TimerRepetition?,
    ownership: TimerOwnership?, state: State
  ) {
    self.calls = calls
    self.service = service
    self.place = place
    self.repetition = repetition
    self.ownership = ownership
    self.state = state
  }

  /// Cancels the call. Returns true if this cancelled it, so that no further call starts. Returns false if it had
  /// started, ended or been cancelled before. O(1).
  ///
  /// It also returns true for a call that was passed to a pool or a loop but has not begun there, and for a repeating
  /// timer whose call is running: that call completes, and no other starts. When it returns true, `onDrop` has been
  /// called on the calling thread, and the closures are released.
  @discardableResult
  public func cancel() -> Bool { calls.cancel(self) }

  /// Moves the next call to another time. Returns true if it will start at that time, not before. Returns false if the
  /// timer is over.
  ///
  /// Called from inside the call itself, it sets the next one, even for a one-time timer. A rate continues from the new
  /// time.
  @discardableResult
  public func reschedule(at deadline: Deadline) -> Bool { calls.reschedule(self, at: deadline) }

  /// Moves the next call to the moment `delay` from now. See ``reschedule(at:)``.
  @discardableResult
  public func reschedule(after delay: Duration) -> Bool { reschedule(at: service.now + delay) }

  /// Whether a call may still start or is running.
  public var isActive: Bool { calls.read(self) { $0.phase != .finished && $0.phase != .cancelled } }

  /// Whether it was cancelled before its (next) call started: by `cancel`, `cancelAll`, a disposal, or a delivery
  /// target that refused it.
  public var isCancelled: Bool { calls.read(self) { $0.phase == .cancelled } }

  /// The number of ticks of a rate that have been skipped so far because a call was still running.
  public var missedCount: Int { calls.read(self) { $0.missed } }
}

extension TimerHandle: Hashable {
  /// Whether both are the same timer.
  public static func == (left: TimerHandle, right: TimerHandle) -> Bool { left === right }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The owner of a timer.
// Unchecked: `owner` is never read. It only prevents the reuse of the object's address while the timer is pending (the
// object itself may be deinitialized). `key` was Sendable before it was erased.
package struct TimerOwnership: @unchecked Sendable {
  private unowned let owner: AnyObject
  let identifier: ObjectIdentifier
  let key: AnyHashable?
  let keyHash: Int

  package init(_ owner: AnyObject, key: (any Hashable & Sendable)?) {
    self.owner = owner
    identifier = ObjectIdentifier(owner)
    // Hashed here, and compared by `TimerCalls` without a lock: both run the program's code.
    self.key = key.map { AnyHashable($0) }
    keyHash = self.key?.hashValue ?? 0
  }
}

/// Why a timer could not be set, or a due call could not be made.
public struct TimerError: HeadgateError, CodedError, Hashable {
  /// The reason. Later versions may add codes: handle those that you know, and treat all others as a failure.
  public struct Code: ErrorCode, Hashable, Sendable, CustomStringConvertible {
    package let reason: Reason
    package init(reason: Reason) { self.reason = reason }

    /// The timer thread was disposed of.
    public static let disposed = Code("disposed", "it was disposed of; create a new one, or use TimerThread.shared")
    /// The number of pending calls has reached the timer thread's limit.
    public static let full = Code("full", "its limit of pending calls is reached; try later, or raise the limit")
    /// The interval of a repetition is zero or negative.
    public static let invalidInterval = Code("invalid_interval", "an interval must be longer than zero")
    /// The delivery target dropped the call without making it, as a disposed pool does. Only reported, never thrown.
    public static let dropped = Code(
      "dropped", "the place of delivery dropped a call; check whether that place was disposed of or is full")
  }

  /// The reason.
  public var code: Code

  /// The timer thread's name.
  public var timers: String

  /// Creates an error with this code.
  public init(_ code: Code, timers: String) {
    self.code = code
    self.timers = timers
  }

  /// A readable text: what failed, why, and what to do.
  public var description: String { "timers \"\(timers)\": \(code.reason.explanation)" }
}
