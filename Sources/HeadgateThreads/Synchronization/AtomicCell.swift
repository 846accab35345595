import Synchronization

/// The atomic word of every algorithm here, under a name that a test build can give to a word whose every access is a
/// step that the test chooses.
@usableFromInline
package typealias AtomicCell = Atomic
