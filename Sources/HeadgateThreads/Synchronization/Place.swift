import Synchronization

/// A value with a stable address inside its owner, mutable while the owner is borrowed. Locks keep their word and their
/// value in it.
///
/// This is the only use of underscored API in this module. `_Cell` is part of the frozen layout of Synchronization's
/// own `Atomic` and `Mutex`, and no public API gives a stored value an address. If its name changes, which the
/// underscore allows, only this file changes. Rejected: separate memory, which is one allocation for each lock, and a
/// `ManagedBuffer`, which is one object for each. Separately allocated locks slow a run of a million requests down
/// by a tenth.
@usableFromInline
struct Place<Value: ~Copyable>: ~Copyable {
  @usableFromInline let cell: _Cell<Value>

  @inlinable init(_ value: consuming Value) { cell = _Cell(value) }

  /// Valid while the owner lives. The caller ensures that accesses do not overlap.
  @inlinable var address: UnsafeMutablePointer<Value> { cell._address }
}
