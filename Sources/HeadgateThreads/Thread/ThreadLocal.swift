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
  /// traps, like overlapping accesses to a variable.
  @available(*, noasync)
  @inlinable
  public func withValue<Returned: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Returned
  ) throws(Failure) -> sending Returned {
    let cell = self.cell()
    cell.pointee.beginAccess()
    defer { cell.pointee.isAccessed = false }
    return try body(&cell.pointee.value)
  }

  /// Destroys the calling thread's value, if it has one. The next use creates a new one. For threads that are reused
  /// for other work, such as a pool's.
  @available(*, noasync)
  public func removeValue() {
    if let found = headgate_local_get(place, key) {
      found.assumingMemoryBound(to: ThreadLocalCell<Value>.self).pointee.checkFree()
    }
    // Removed from the table before it is released: its deinitializer may use the library.
    let owner = ThreadStorage.remove(place: Int(place), key: key)
    _ = consume owner
  }

  @inlinable
  func cell() -> UnsafeMutablePointer<ThreadLocalCell<Value>> {
    // The key belongs to this object only, so the value under it was stored by `makeCell`.
    if let found = headgate_local_get(place, key) { return found.assumingMemoryBound(to: ThreadLocalCell<Value>.self) }
    return makeCell()
  }

  @usableFromInline
  @inline(never)
  func makeCell() -> UnsafeMutablePointer<ThreadLocalCell<Value>> {
    let owner = ThreadLocalOwner(initial())
    let value = UnsafeMutableRawPointer(owner.cell)
    ThreadStorage.insert(place: Int(place), key: key, value: value, owner: consume owner)
    // Looked up again: the deinitializer of an old value in the slot may have removed the new one.
    return cell()
  }
}

extension ThreadLocal where Value: Sendable {
  /// The calling thread's value. O(1).
  @available(*, noasync)
  @inlinable
  public var value: Value {
    get {
      let cell = self.cell()
      cell.pointee.checkFree()
      return cell.pointee.value
    }
    set {
      let cell = self.cell()
      cell.pointee.checkFree()
      // Kept until the new value is in place: a deinitializer may read it.
      let old = cell.pointee.value
      cell.pointee.value = newValue
      _ = consume old
    }
  }
}

/// A thread's value, and whether it is being accessed.
@usableFromInline
struct ThreadLocalCell<Value: ~Copyable>: ~Copyable {
  @usableFromInline var value: Value
  @usableFromInline var isAccessed = false

  init(_ value: consuming Value) { self.value = value }

  // Exclusivity, which the compiler cannot check here. Continuing would be unsafe.
  @inlinable
  func checkFree() { precondition(!isAccessed, "overlapping accesses to a thread-local value") }

  @inlinable
  mutating func beginAccess() {
    checkFree()
    isAccessed = true
  }
}

/// Destroys a thread's value when it is removed from the table.
private final class ThreadLocalOwner<Value: ~Copyable> {
  let cell: UnsafeMutablePointer<ThreadLocalCell<Value>>

  init(_ value: consuming Value) {
    cell = .allocate(capacity: 1)
    cell.initialize(to: ThreadLocalCell(value))
  }

  deinit {
    cell.deinitialize(count: 1)
    cell.deallocate()
  }
}

/// Named values of the calling thread, like Foundation's `threadDictionary`, for values that don't need a
/// ``ThreadLocal``. See ``ManagedThread/dictionary``.
///
///     ManagedThread.dictionary["exitNow"] = true
///     while ManagedThread.dictionary["exitNow", as: Bool.self] != true { … }
///
/// Each thread sees only its own values. They are destroyed when the thread exits, together and in no particular order,
/// as if they were one ``ThreadLocal`` created at the first use. Access costs a lookup in a Swift dictionary. A
/// ``ThreadLocal`` is faster and typed.
public struct ThreadDictionary {
  private static let values = ThreadLocal<[String: any Sendable]> { [:] }

  init() {}

  /// The calling thread's value for a name. Setting nil removes it.
  @available(*, noasync)
  public subscript(name: String) -> (any Sendable)? {
    get { Self.values.hasValue ? Self.values.withValue { $0[name] } : nil }
    nonmutating set {
      // The old value is removed before it is released: its deinitializer may access the dictionary.
      let old = Self.values.withValue { values in
        guard let newValue else { return values.removeValue(forKey: name) }
        return values.updateValue(newValue, forKey: name)
      }
      _ = consume old
    }
  }

  /// The calling thread's value for a name, if it has this type. Setting nil removes it.
  @available(*, noasync)
  public subscript<Value: Sendable>(name: String, as type: Value.Type) -> Value? {
    get { self[name] as? Value }
    nonmutating set { self[name] = newValue }
  }

  /// The names that have a value on the calling thread, in no particular order.
  @available(*, noasync)
  public var names: [String] { Self.values.hasValue ? Self.values.withValue { Array($0.keys) } : [] }

  /// Removes all values of the calling thread.
  @available(*, noasync)
  public func removeAll() { Self.values.removeValue() }
}
