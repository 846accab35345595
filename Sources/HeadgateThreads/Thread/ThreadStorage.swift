// Thread-local values: a table in the thread's record, with one slot for each ThreadLocal. David Butenhof, "Programming
// with POSIX Threads" (1997), section 5.4, describes the guarantees of keys and destructors. The order of destruction
// is that of thread_local in C++ (ISO/IEC 14882, [basic.start.term]).
//
// Rejected: one pthread key for each value (a system has about a thousand, and leaves the order of destruction open).

import CHeadgate
import Synchronization

/// The calling thread's table. Its hot path, the lookup of a slot, is `headgate_local_get` in C, which callers inline.
enum ThreadStorage {
  /// How many new values deinitializers may create while the thread exits. Beyond that, values are leaked with a
  /// warning.
  private static let rounds = 1000

  /// Stores a value in a slot of the calling thread's table. A previous value there belonged to a ThreadLocal that no
  /// longer exists, and is released now.
  static func insert(
    place: Int, key: UInt64, value: UnsafeMutableRawPointer, owner: consuming AnyObject
  ) {
    let words = ThreadRecord.current.ownWords
    let old = remove(place: place, from: words)
    grow(words, toHold: place)
    guard let locals = words.pointee.locals else { return }
    let newest = words.pointee.newest
    locals[place] = headgate_local(
      key: key, value: value, owner: Unmanaged.passRetained(owner).toOpaque(), older: newest, newer: -1)
    if newest >= 0 { locals[newest].newer = place }
    words.pointee.newest = place
    // A deinitializer may use the library, so the old value is released last.
    _ = consume old
  }

  /// Removes the calling thread's value from a slot, if it has one there with this key. The caller releases it.
  static func remove(place: Int, key: UInt64) -> AnyObject? {
    guard headgate_local_get(UInt(place), key) != nil, let words = headgate_thread_current() else { return nil }
    return remove(place: place, from: words)
  }

  /// Releases all values, newest first. A deinitializer can still use older values. Values that deinitializers create
  /// are released next.
  static func destroyAll(in words: UnsafeMutablePointer<headgate_thread>) {
    var left = rounds + Int(words.pointee.capacity)
    while words.pointee.newest >= 0 {
      guard left > 0 else {
        HeadgateLog.warn(
          .thread, "the deinitializers of thread-local values keep creating new values while a thread exits; leaked")
        return
      }
      left -= 1
      _ = remove(place: words.pointee.newest, from: words)
    }
  }

  private static func remove(place: Int, from words: UnsafeMutablePointer<headgate_thread>) -> AnyObject? {
    guard place < words.pointee.capacity, let locals = words.pointee.locals, let owner = locals[place].owner else {
      return nil
    }
    let (older, newer) = (locals[place].older, locals[place].newer)
    if older >= 0 { locals[older].newer = newer }
    if newer >= 0 { locals[newer].older = older } else { words.pointee.newest = older }
    locals[place] = headgate_local()
    // Balances `passRetained` in `insert`.
    return Unmanaged<AnyObject>.fromOpaque(owner).takeRetainedValue()
  }

  private static func grow(_ words: UnsafeMutablePointer<headgate_thread>, toHold place: Int) {
    let capacity = Int(words.pointee.capacity)
    guard place >= capacity else { return }
    let larger = max(8, 2 * capacity, place + 1)
    let locals = UnsafeMutablePointer<headgate_local>.allocate(capacity: larger)
    if let old = words.pointee.locals {
      locals.moveInitialize(from: old, count: capacity)
      old.deallocate()
    }
    (locals + capacity).initialize(repeating: headgate_local(), count: larger - capacity)
    words.pointee.locals = locals
    words.pointee.capacity = UInt(larger)
  }
}

/// Allocates and frees the table's slots, and creates keys that are never reused.
enum ThreadStoragePlaces {
  private struct State: Sendable {
    var free: [Int] = []
    var count = 0
    var lastKey: UInt64 = 0
  }

  private static let state = Locked(State())

  static func take() -> (place: Int, key: UInt64) {
    state.withLock { state in
      state.lastKey += 1
      if let place = state.free.popLast() { return (place, state.lastKey) }
      state.count += 1
      return (state.count - 1, state.lastKey)
    }
  }

  static func giveBack(_ place: Int) { state.withLock { $0.free.append(place) } }
}
