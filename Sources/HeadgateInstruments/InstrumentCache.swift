import HeadgateThreads

/// Caches the instruments of a metrics backend by their attributes. Creating one for each value would cost at least a
/// look-up in the backend.
final class InstrumentCache<Key: Hashable & Sendable, Instrument: Sendable>: Sendable {
  private let made = Locked<[Key: Instrument]>([:])
  private let make: @Sendable (Key) -> Instrument

  init(_ make: @escaping @Sendable (Key) -> Instrument) { self.make = make }

  subscript(key: Key) -> Instrument {
    if let known = made.withLock({ $0[key] }) { return known }
    // The backend is foreign code, so it is not called under the lock. If two threads create an instrument at the
    // same time, the first one is kept.
    let new = make(key)
    return made.withLock { made in
      if let first = made[key] { return first }
      made[key] = new
      return new
    }
  }
}
