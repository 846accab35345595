import HeadgateThreads

// The library has one of its own, for itself. These tests are built by another package too (Tests/TraitTest), which sees
// only what is public.

/// A locked value that closures can share.
final class LockedBox<Value: ~Copyable>: Sendable {
  private let locked: Locked<Value>

  init(_ value: consuming sending Value) { locked = Locked(value) }

  func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try locked.withLock(body)
  }
}
