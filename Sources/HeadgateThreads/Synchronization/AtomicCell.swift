#if !HEADGATE_EXPLORE
import Synchronization

/// The atomic word of every algorithm here, under a name that a test build gives to a word whose every access is a step
/// that the test chooses (Exploration.swift).
@usableFromInline
package typealias AtomicCell = Atomic
#endif
