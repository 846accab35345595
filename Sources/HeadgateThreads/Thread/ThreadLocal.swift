import CHeadgate

/// A value that each thread has for itself: made when the thread first uses it, destroyed when the thread exits. What
/// `pthread_key_create`, `pthread_getspecific` and `ThreadLocal` of Java do, with a type.
///
///     static let formatter = ThreadLocal { DateFormatter() }
///     let text = formatter.withValue { $0.string(from: date) }
///
/// It works on every thread, also on the main thread and on those that pthread or libdispatch made. When a thread exits,
/// its values go in the reverse order of their creation on it, before ``ManagedThread/join(until:)`` of that thread
/// returns; a destructor may still use older values, and any part of this library. The main thread's values live as long
/// as the process.
///
/// When the `ThreadLocal` itself goes, the values that threads still hold stay until those threads exit, or until they
/// first use another `ThreadLocal` that got its place. Each costs its own memory and about 80 bytes. A look costs a few
/// nanoseconds and no lock; a thread's first use allocates.
///
/// In a task the value belongs to the thread that happens to run it, which may change at each `await`: use `@TaskLocal`
/// there.
public final class ThreadLocal<Value: ~Copyable>: Sendable {
  @usableFromInline let place: UInt
  @usableFromInline let key: UInt64
  private let initial: @Sendable () -> sending Value

  /// A thread-local value.
  ///
  /// - Parameter initial: Makes a thread's value when the thread first needs it, on that thread. It may use other
  ///   thread-local values, but not this one.
  public init(_ initial: @escaping @Sendable () -> sending Value) {
    let (place, key) = ThreadStoragePlaces.take()
    self.place = UInt(place)
    self.key = key
    self.initial = initial
  }

  deinit { ThreadStoragePlaces.giveBack(Int(place)) }

  /// Whether the calling thread has a value already.
  @available(*, noasync)
  public var hasValue: Bool { headgate_local_get(place, key) != nil }

  /// Gives the calling thread's value to `body`, which may change it. O(1).
  ///
  /// As everywhere in Swift, nobody may use a value that is being changed: a second `withValue` of the same
  /// `ThreadLocal` inside the first stops the process, as overlapping accesses to a variable do.
  @available(*, noasync)
  @inlinable
  public func withValue<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    let cell = self.cell()
    cell.pointee.beginAccess()
    defer { cell.pointee.isAccessed = false }
    return try body(&cell.pointee.value)
  }

  /// Destroys the calling thread's value, if it has one; the next use makes a new one. For threads that live on and are
  /// used for something else, such as a pool's.
  @available(*, noasync)
  public func removeValue() {
    if let found = headgate_local_get(place, key) {
      found.assumingMemoryBound(to: ThreadLocalCell<Value>.self).pointee.checkFree()
    }
    // Out of the table before it is let go: its destructor may use the library.
    let owner = ThreadStorage.remove(place: Int(place), key: key)
    _ = consume owner
  }

  @inlinable
  func cell() -> UnsafeMutablePointer<ThreadLocalCell<Value>> {
    // The key is this object's alone, so what lies there was put there by `makeCell`.
    if let found = headgate_local_get(place, key) { return found.assumingMemoryBound(to: ThreadLocalCell<Value>.self) }
    return makeCell()
  }

  @usableFromInline
  @inline(never)
  func makeCell() -> UnsafeMutablePointer<ThreadLocalCell<Value>> {
    let owner = ThreadLocalOwner(initial())
    let cell = owner.cell
    ThreadStorage.insert(place: Int(place), key: key, value: UnsafeMutableRawPointer(cell), owner: owner)
    return cell
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
      // Kept until the new one stands: a destructor may look.
      let old = cell.pointee.value
      cell.pointee.value = newValue
      _ = consume old
    }
  }
}

/// A thread's value, and whether somebody is changing it at this moment.
@usableFromInline
struct ThreadLocalCell<Value: ~Copyable>: ~Copyable {
  @usableFromInline var value: Value
  @usableFromInline var isAccessed = false

  init(_ value: consuming Value) { self.value = value }

  // The law of exclusivity, which the compiler can't see here: to go on would be unsafe.
  @inlinable
  func checkFree() { precondition(!isAccessed, "overlapping accesses to a thread-local value") }

  @inlinable
  mutating func beginAccess() {
    checkFree()
    isAccessed = true
  }
}

/// Destroys a thread's value when the table lets go of it.
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
