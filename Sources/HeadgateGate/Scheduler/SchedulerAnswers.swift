// What the events of a `Scheduler` carry and return.

/// The result of a submission.
package enum Submission: Sendable {
  /// It already runs, as after a `start`. Only if `mayStart`.
  case started(Ticket)
  /// It starts (a `start` follows) or waits.
  case accepted(Ticket)
  /// It waits, and its caller must be held until `admit` or `start`.
  case held(Ticket)
  /// It was refused.
  case refused(Refusal)
}

package enum Refusal: Hashable, Sendable {
  case queueFull, longLaneFull, shutDown
  // Indirect, because a reason is large and rare: the result of every submission must stay small.
  /// Its weight exceeds this budget.
  indirect case tooHeavy(WaitReason)
  /// Its deadline lies within a pause.
  indirect case paused(WaitReason)
  /// The end-point can't be reached or refuses all requests, and was tried often enough; or an earlier process was told to
  /// wait for longer than this one may.
  indirect case givenUp(WaitReason)
}

/// Whether a submission may wait for its turn.
package enum Patience: Sendable {
  case waits
  /// For a long request: it is refused unless the long lane has a place for it. It may still wait for short requests
  /// to release a permit.
  case needsLongPlace
  /// It is refused unless it starts at once.
  case none
}

/// How an item arrives.
package struct Admission: Sendable {
  enum Kind { case new, returning, expected, onBehalf }
  let kind: Kind
  /// The age that it comes with. Nil for a new item.
  var age: UInt64?
  /// Whether it has already passed the limit on waiting requests, so that a full queue does not refuse it.
  var wasAccepted = false

  /// It is new.
  package static var new: Admission { Admission(kind: .new) }

  /// It was accepted before and has rested since. It has the age of its first submission.
  package static func returning(age: UInt64) -> Admission {
    Admission(kind: .returning, age: age, wasAccepted: true)
  }

  /// It was expected. It has the age of its first submission, and may also come while the scheduler drains.
  package static func expected(age: UInt64, wasAccepted: Bool = false) -> Admission {
    Admission(kind: .expected, age: age, wasAccepted: wasAccepted)
  }

  /// An expected item depends on it, and passes its age on.
  package static func onBehalf(age: UInt64) -> Admission { Admission(kind: .onBehalf, age: age) }
}

/// The state of a withdrawn item.
package enum Withdrawal<Item: Sendable>: Sendable {
  /// It waited and was removed. The item is returned, to be released outside the lock.
  case waiting(Item?)
  /// It is running, and keeps its permit until `finish`.
  case running
  /// It is no longer here, or was withdrawn before.
  case gone
}

/// The result of a move to another end-point.
package enum Move: Sendable {
  /// It is the same end-point, which counts only running requests: the permit stays.
  case stays
  /// The permit was returned. The request waits at the new end-point, or a `start` follows.
  case moved
  /// Like a refused submission. The permit is still held: call `finish`.
  case refused(Refusal)
}

/// How a gate closes. Each mode is stricter than the one before it.
package enum Closing: Comparable, Sendable {
  case open
  /// No new requests. All accepted requests run.
  case draining
  /// Waiting requests are ended. Running requests may finish.
  case ending
  /// Running requests are asked to end too.
  case aborting
}

/// The result of a move to the long lane.
package enum Reclass: Sendable {
  /// It counts as a long request from now on.
  case moved
  /// It was already long.
  case stays
  /// The long lane has no place, counting the requests that wait for one: none is overtaken. It continues as a short
  /// request.
  case refused
  /// It does not run: it waits, is ending or has ended.
  case gone
}
