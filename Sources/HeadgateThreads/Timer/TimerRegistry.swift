/// The handles that have not ended, all and by owner and key.
///
/// A value guarded by the lock of ``TimerCalls``, which also guards the states of all its handles.
struct TimerRegistry {
  private(set) var handles: Set<TimerHandle> = []
  // By owner, then by the key's hash: comparing keys runs the program's code, which must not happen under a lock.
  private(set) var owned: [ObjectIdentifier: [Int: Set<TimerHandle>]] = [:]
  var isDisposed = false

  mutating func add(_ handle: TimerHandle) {
    handles.insert(handle)
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
    handles.remove(handle)
    // Memory for a million calls must not be kept forever.
    if handles.isEmpty { handles = [] }
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
