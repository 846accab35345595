import Synchronization

/// The atomic type used by every lock-free algorithm of this library.
@usableFromInline
package typealias AtomicCell = Atomic
