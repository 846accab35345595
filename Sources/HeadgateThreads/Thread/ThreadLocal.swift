import CHeadgate

/// A value that each thread has separately: created when the thread first uses it, destroyed when the thread exits. A
/// typed form of `pthread_key_create`, `pthread_getspecific` and Java's `ThreadLocal`.
///
///     static let formatter = ThreadLocal { DateFormatter() }
///     let text = formatter.withValue { $0.string(from: date) }
///
/// It works on every thread, including the main thread and threads created by pthread or libdispatch. When a thread
/// exits, its values are destroyed in the reverse order of their creation on that thread, before
/// ``ManagedThread/join(until:)`` returns. A deinitializer may still use older values and any part of this library. The
/// main thread's values live as long as the process.
///
/// When the `ThreadLocal` itself is released, the values that threads still hold remain until those threads exit, or
/// until they first use another `ThreadLocal` that reuses its slot. Each value costs its own memory plus about 80
/// bytes. Access takes a few nanoseconds and no lock; a thread's first use allocates.
///
/// In a task the value belongs to the thread that currently runs the task, which may change at each `await`. Use
/// `@TaskLocal` there.
public final class ThreadLocal<Value: ~Copyable>: Sendable {
  @usableFromInline let place: UInt
  @usableFromInline let key: UInt64
  private let initial: @Sendable () -> sending Value

  /// Creates a thread-local value.
  ///
  /// - Parameter initial: Creates a thread's value when that thread first needs it, on that thread. It may use other
  ///   thread-local values, but not this one.
  public init(_ initial: @escaping @Sendable () -> sending Value) {
    let (place, key) = ThreadStoragePlaces.take()
    self.place = UInt(place)
    self.key = key
    self.initial = initial
  }

  deinit { ThreadStoragePlaces.giveBack(Int(place)) }

  /// Whether the calling thread already has a value.
  @available(*, noasync)
  public var hasValue: Bool { headgate_local_get(place, key) != nil }

  /// Passes the calling thread's value to `body`, which may change it. O(1).
  ///
  /// As everywhere in Swift, accesses must not overlap: a second `withValue` of the same `ThreadLocal` inside the first
  /// traps, like overlapping accesses to a variable. `body` must return or throw: to leave it with `pthread_exit` is
  /// undefined.
  @available(*, noasync)
  @inlinable
  public func withValue<Returned: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Returned
  ) throws(Failure) -> sending Returned {
    // Unsafe: the value belongs to the calling thread.
    nonisolated(unsafe) let box = self.box()
    return try body(&box.value)
  }

  /// Destroys the calling thread's value, if it has one: at once, or at the end of a `withValue` that this is called in.
  /// The next use creates a new one. For threads that are reused for other work, such as a pool's.
  @available(*, noasync)
  public func removeValue() {
    // Removed from the table before it is released: its deinitializer may use the library.
    let box = ThreadStorage.remove(place: Int(place), key: key)
    _ = consume box
  }

  @inlinable
  func box() -> ThreadLocalBox<Value> {
    // The key belongs to this object only, so the object under it was stored by `makeBox`.
    if let found = headgate_local_get(place, key) {
      return Unmanaged<ThreadLocalBox<Value>>.fromOpaque(found).takeUnretainedValue()
    }
    return makeBox()
  }

  @usableFromInline
  @inline(never)
  func makeBox() -> ThreadLocalBox<Value> {
    let box = ThreadLocalBox(initial())
    ThreadStorage.insert(box, place: Int(place), key: key)
    return box
  }
}

extension ThreadLocal where Value: Sendable {
  /// The calling thread's value. O(1).
  @available(*, noasync)
  @inlinable
  public var value: Value {
    get { box().value }
    set {
      let box = self.box()
      // Kept until the new value is in place: a deinitializer may read it.
      let old = box.value
      box.value = newValue
      _ = consume old
    }
  }
}

/// A thread's value: an object, so that Swift's runtime checks that accesses do not overlap.
@usableFromInline
final class ThreadLocalBox<Value: ~Copyable> {
  @usableFromInline var value: Value

  init(_ value: consuming Value) { self.value = value }
}
