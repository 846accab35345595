/// A lock for C libraries that ask their user for one, by a call that takes it and another that gives it back. Everything
/// else uses ``Locked``, which can't be left held.
// Unchecked: the memory is made and freed by this object, and between that only the lock's own words are in it.
package final class CallbackLock: @unchecked Sendable {
  // Aligned as `Lock` wants it; freed in deinit, after which nobody can hold it.
  private let memory = UnsafeMutableRawPointer.allocate(byteCount: Lock.size, alignment: 16)
  private let held: Lock

  /// A free lock.
  package init() { held = Lock(at: memory) }

  deinit { memory.deallocate() }

  /// Waits until it is free and takes it.
  package func lock() { held.lock() }

  /// Gives it back, on the thread that took it.
  package func unlock() { held.unlock() }
}
