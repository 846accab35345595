// The values that a thread keeps for itself: a table in the thread's own record, one place for each ThreadLocal.
// David Butenhof, "Programming with POSIX Threads" (1997), section 5.4, for what keys and destructors must promise; the
// order of destruction is that of thread_local in C++ (ISO/IEC 14882, [basic.start.term]).
//
// Rejected: one pthread key for each value (a system has about a thousand, and leaves the order of destruction open).

import CHeadgate
import Synchronization

/// The table of the calling thread. Its hot path, a look at a place, is `headgate_local_get` in C, which callers inline.
enum ThreadStorage {
  /// How often values may bring forth new ones while the thread exits, before what is left is leaked with a warning.
  private static let rounds = 1000

  /// Puts a value into a place of the calling thread's table. What stood there belonged to a ThreadLocal that is gone
  /// since; it goes now.
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
    // A destructor may use the library, so only now.
    _ = consume old
  }

  /// Takes the calling thread's value out of a place, if it has one there under this key; the caller lets it go.
  static func remove(place: Int, key: UInt64) -> AnyObject? {
    guard headgate_local_get(UInt(place), key) != nil, let words = headgate_thread_current() else { return nil }
    return remove(place: place, from: words)
  }

  /// Lets go of all values, the newest first. Those that their destructors use are still there, if they are older, and
  /// what the destructors create goes next.
  static func destroyAll(in words: UnsafeMutablePointer<headgate_thread>) {
    var left = rounds + Int(words.pointee.capacity)
    while words.pointee.newest >= 0 {
      guard left > 0 else {
        HeadgateLog.warn(.thread, "thread-local values bring forth new ones without end while a thread exits; leaked")
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

/// Gives out the places of the table and takes them back, and keys that are never given twice.
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
