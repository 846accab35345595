import Synchronization

/// A value that has an address inside of its owner, and may change while the owner is borrowed: what a lock keeps its word
/// and its value in.
///
/// It is the only use of underscored API in this module: `_Cell` is what Synchronization's own `Atomic` and `Mutex` are made
/// of, as a part of their frozen layout, and nothing public gives a stored value an address. Should its name change, which
/// the underscore allows, it changes here. Rejected: memory of its own, which is an allocation for each lock, and a
/// `ManagedBuffer`, which is an object for each. With memory of their own the locks of a million requests made them 1.12 times
/// as slow (docs/benchmarks.md).
@usableFromInline
struct Place<Value: ~Copyable>: ~Copyable {
  @usableFromInline let cell: _Cell<Value>

  @inlinable init(_ value: consuming Value) { cell = _Cell(value) }

  /// Valid while the owner lives. Who uses it sees to it that no two accesses overlap.
  @inlinable var address: UnsafeMutablePointer<Value> { cell._address }
}
