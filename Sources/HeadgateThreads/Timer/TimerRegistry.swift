/// The handles that have not ended: by slot, so that adding and removing need no hashing, and by owner and key. (With a
/// set, a cancel among a million timers took two and a half times as long.)
///
/// A value guarded by the lock of ``TimerCalls``, which also guards the states of all its handles.
struct TimerRegistry {
  private(set) var handles: [TimerHandle?] = []
  private var free: [Int] = []
  // By owner, then by the key's hash: comparing keys runs the program's code, which must not happen under a lock.
  private(set) var owned: [ObjectIdentifier: [Int: Set<TimerHandle>]] = [:]
  var isDisposed = false

  var count: Int { handles.count - free.count }

  mutating func add(_ handle: TimerHandle) {
    handle.state.place = free.popLast() ?? handles.count
    if handle.state.place == handles.count { handles.append(handle) } else { handles[handle.state.place] = handle }
    guard let ownership = handle.ownership else { return }
    owned[ownership.identifier, default: [:]][ownership.keyHash, default: []].insert(handle)
  }

  /// Ends a timer. Returns what it held, to be released without the lock.
  mutating func end(_ handle: TimerHandle, as phase: TimerHandle.Phase) -> TimerHandle.State {
    let leftovers = handle.state
    handle.state.phase = phase
    handle.state.timer = nil
    handle.state.body = nil
    handle.state.onDrop = nil
    handle.state.moved = nil
    // The caller has its own reference, so this is never the last one.
    handles[leftovers.place] = nil
    free.append(leftovers.place)
    // Memory for a million calls must not be kept forever.
    if free.count == handles.count { (handles, free) = ([], []) }
    if let ownership = handle.ownership { disown(handle, ownership) }
    return leftovers
  }

  private mutating func disown(_ handle: TimerHandle, _ ownership: TimerOwnership) {
    guard let place = owned.index(forKey: ownership.identifier) else { return }
    owned.values[place][ownership.keyHash]?.remove(handle)
    if owned.values[place][ownership.keyHash]?.isEmpty == true { owned.values[place][ownership.keyHash] = nil }
    if owned.values[place].isEmpty { owned.remove(at: place) }
  }
}
