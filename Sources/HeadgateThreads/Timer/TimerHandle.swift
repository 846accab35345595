/// A call that a timer makes once or again and again: what moves it and takes it back.
///
/// It need not be kept: the call comes anyway.
public final class TimerHandle: Sendable {
  enum Phase: UInt8, Sendable {
    /// Waits for its moment.
    case pending
    /// Given to its target, which has not begun it.
    case handedOver
    case running
    /// Over: made, or taken back.
    case finished, cancelled
  }

  /// In a struct, which goes through the lock's generic code without an allocation.
  struct Body: Sendable {
    let call: @Sendable () throws -> Void
  }

  /// What the handle's calls change, all under the lock of `calls`.
  struct State {
    var phase = Phase.pending
    // Which arming of the timer is meant: what comes of an earlier one, late, is told apart by it.
    var round: UInt64 = 0
    var deadline: Deadline
    var timer: ScheduledTimer?
    // Where a `reschedule` during the call has moved the next one.
    var moved: Deadline?
    var missed = 0
    var place: Int32 = -1
    // Let go as soon as the timer has ended.
    var body: Body?
    var onCancel: (@Sendable () -> Void)?
  }

  let calls: TimerCalls
  let service: any TimerService
  let target: TimerTarget
  let repetition: TimerRepetition?
  let ownership: TimerOwnership?
  let isWait: Bool
  // Unsafe: read and written under the lock of `calls` alone.
  nonisolated(unsafe) var state: State

  init(
    calls: TimerCalls, service: any TimerService, target: TimerTarget, repetition: TimerRepetition?,
    ownership: TimerOwnership?, isWait: Bool, state: State
  ) {
    self.calls = calls
    self.service = service
    self.target = target
    self.repetition = repetition
    self.ownership = ownership
    self.isWait = isWait
    self.state = state
  }

  /// Takes the call back. True: this took it back, and no call starts any more; false: it had started, ended or been
  /// cancelled before. O(1).
  ///
  /// Also true when it had been given to a pool or a loop that has not begun it, and for a repeating timer whose call
  /// is running: that one ends, and no other starts. When it returns true, `onCancel` has been called, here, and the
  /// closures are let go.
  @discardableResult
  public func cancel() -> Bool { calls.cancel(self) }

  /// Moves the next call to another moment. True: it will start then, and not before; false: the timer is over.
  ///
  /// From inside the call itself it sets the next one, also for a timer that is made once. A rate goes on from there.
  @discardableResult
  public func reschedule(at deadline: Deadline) -> Bool { calls.reschedule(self, at: deadline) }

  /// Moves the next call so far from now. See ``reschedule(at:)``.
  @discardableResult
  public func reschedule(after delay: Duration) -> Bool { reschedule(at: service.now + delay) }

  /// Whether a call may still start or is running.
  public var isActive: Bool { calls.read(self) { $0.phase != .finished && $0.phase != .cancelled } }

  /// Whether it was taken back before it (next) started: by `cancel`, `cancelAll`, a disposal or its target.
  public var isCancelled: Bool { calls.read(self) { $0.phase == .cancelled } }

  /// The moments of a rate that were left out so far, because a call still ran.
  public var missedCount: Int { calls.read(self) { $0.missed } }
}

extension TimerHandle: Hashable {
  /// Whether both are the same timer.
  public static func == (left: TimerHandle, right: TimerHandle) -> Bool { left === right }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// On whose behalf a timer runs.
// Unchecked: `owner` is never read, it only keeps the object's address from being another's while the timer is pending
// (the object itself may end); `key` was Sendable before it was erased.
package struct TimerOwnership: @unchecked Sendable {
  private unowned let owner: AnyObject
  let identifier: ObjectIdentifier
  let key: AnyHashable?
  let keyHash: Int

  package init(_ owner: AnyObject, key: (any Hashable & Sendable)?) {
    self.owner = owner
    identifier = ObjectIdentifier(owner)
    // Hashed here, and compared by `TimerCalls` with no lock held: both run code of the program.
    self.key = key.map { AnyHashable($0) }
    keyHash = self.key?.hashValue ?? 0
  }
}
