// The seam for a test that chooses the interleaving: C. Flanagan and P. Godefroid's systematic exploration, with the bound
// on preemptions of M. Musuvathi and S. Qadeer's CHESS (2007).
//
// With HEADGATE_EXPLORE defined, which only Tests/Explorer does, the lock, the parker and the atomic word are others: each
// access to one is a step, before which the test may let another thread go on. What the test doesn't see are the
// processor's weaker orders: all accesses are sequentially consistent there.

#if HEADGATE_EXPLORE
import CHeadgate
import Synchronization

/// Who decides which thread goes on. It knows its own threads; for all others its calls do nothing.
package protocol Exploration: AnyObject, Sendable {
  /// The calling thread is about to touch something shared.
  func step()

  /// The calling thread sleeps until `isReady` holds. With a deadline it may be woken by that at any time: then the
  /// result is false. Nil: the thread is not one of the explored ones.
  func sleep(until deadline: UInt64, _ isReady: @escaping () -> Bool) -> Bool?

  /// The calling thread looks again and again for what another one is about to do: it goes on after the next step of
  /// another.
  func yield()

  /// The time, which moves only when a sleep ends by its deadline.
  var now: UInt64? { get }
}

/// The exploration under way, if there is one.
package enum Explored {
  // Set once, before the first explored thread starts.
  nonisolated(unsafe) package static var by: (any Exploration)?

  /// A guard to leave out on purpose, so that a test sees that the explorer finds what then goes wrong.
  nonisolated(unsafe) package static var withoutRecheck = false

  static func step() { by?.step() }
}

/// An atomic word whose every access is a step.
// Unchecked: `value` is a constant pointer, and what it points to is touched under the one mutex only.
@usableFromInline package struct AtomicCell<Value>: ~Copyable, @unchecked Sendable {
  private let value: UnsafeMutablePointer<Value>

  @usableFromInline package init(_ value: consuming Value) {
    self.value = .allocate(capacity: 1)
    self.value.initialize(to: value)
  }

  deinit {
    value.deinitialize(count: 1)
    value.deallocate()
  }

  private borrowing func update<Result>(_ change: (inout Value) -> Result) -> Result {
    Explored.step()
    // Between a step and the next only one explored thread runs; the mutex is there for the others.
    return exclusion.withLock { _ in change(&value.pointee) }
  }

  @usableFromInline package borrowing func load(ordering: AtomicLoadOrdering) -> Value { update { $0 } }

  @usableFromInline package borrowing func store(_ new: Value, ordering: AtomicStoreOrdering) { update { $0 = new } }

  @usableFromInline package borrowing func exchange(_ new: Value, ordering: AtomicUpdateOrdering) -> Value {
    update { value in
      defer { value = new }
      return value
    }
  }
}

private let exclusion = Mutex(())

extension AtomicCell where Value: Equatable {
  @usableFromInline package borrowing func compareExchange(
    expected: Value, desired: Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    update { value in
      let original = value
      if original == expected { value = desired }
      return (original == expected, original)
    }
  }

  @usableFromInline package borrowing func compareExchange(
    expected: Value, desired: Value, successOrdering: AtomicUpdateOrdering, failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected: expected, desired: desired, ordering: successOrdering)
  }

  @usableFromInline package borrowing func weakCompareExchange(
    expected: Value, desired: Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected: expected, desired: desired, ordering: ordering)
  }

  @usableFromInline package borrowing func weakCompareExchange(
    expected: Value, desired: Value, successOrdering: AtomicUpdateOrdering, failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected: expected, desired: desired, ordering: successOrdering)
  }
}

extension AtomicCell where Value: FixedWidthInteger {
  private borrowing func changed(_ change: (Value) -> Value) -> (oldValue: Value, newValue: Value) {
    update { value in
      let old = value
      value = change(old)
      return (old, value)
    }
  }

  @discardableResult
  @usableFromInline package borrowing func add(
    _ value: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { changed { $0 + value } }

  @discardableResult
  @usableFromInline package borrowing func wrappingAdd(
    _ value: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { changed { $0 &+ value } }

  @discardableResult
  @usableFromInline package borrowing func subtract(
    _ value: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { changed { $0 - value } }

  @discardableResult
  @usableFromInline package borrowing func wrappingSubtract(
    _ value: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { changed { $0 &- value } }

  @discardableResult
  @usableFromInline package borrowing func bitwiseOr(
    _ value: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { changed { $0 | value } }

  @discardableResult
  @usableFromInline package borrowing func bitwiseAnd(
    _ value: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) { changed { $0 & value } }
}

/// The lock: a word that its waiters sleep on.
@usableFromInline
package struct Lock: ~Copyable {
  @usableFromInline let place = Place(Atomic<UInt32>(0))

  @usableFromInline package init() {}

  private var word: UnsafeMutablePointer<Atomic<UInt32>> { place.address }

  @usableFromInline package func lock() {
    Explored.step()
    while !word.pointee.compareExchange(expected: 0, desired: 1, ordering: .sequentiallyConsistent).exchanged {
      let word = word
      if Explored.by?.sleep(until: .max, { word.pointee.load(ordering: .sequentiallyConsistent) == 0 }) == nil {
        headgate_pause()
      }
    }
  }

  @usableFromInline package func unlock() {
    word.pointee.store(0, ordering: .sequentiallyConsistent)
    Explored.step()
  }

  @usableFromInline func assertHeld() {}
  @usableFromInline func assertNotHeld() {}
}

/// The parker: a token, and a sleep until it is there.
package final class Parker: Sendable {
  private let token = Atomic<Bool>(false)

  package init() {}

  package func park(until deadline: Deadline = .distantFuture) -> Bool {
    Explored.step()
    if token.exchange(false, ordering: .sequentiallyConsistent) { return true }
    guard deadline > .now else { return false }
    let isWoken = Explored.by?.sleep(until: deadline.nanoseconds) { [self] in
      token.load(ordering: .sequentiallyConsistent)
    }
    if isWoken == nil {
      // Not an explored thread: this build is not for them.
      while !token.load(ordering: .sequentiallyConsistent), deadline > .now { headgate_pause() }
    }
    return token.exchange(false, ordering: .sequentiallyConsistent)
  }

  package func unpark() {
    Explored.step()
    token.store(true, ordering: .sequentiallyConsistent)
  }
}
#endif
