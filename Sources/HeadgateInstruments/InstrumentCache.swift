import HeadgateThreads

/// Keeps what a metrics' back-end has made, by its attributes: making one anew for each value would cost a look-up in the
/// back-end, or more.
final class InstrumentCache<Key: Hashable & Sendable, Instrument: Sendable>: Sendable {
  private let made = Locked<[Key: Instrument]>([:])
  private let make: @Sendable (Key) -> Instrument

  init(_ make: @escaping @Sendable (Key) -> Instrument) { self.make = make }

  subscript(key: Key) -> Instrument {
    if let known = made.withLock({ $0[key] }) { return known }
    // The back-end is code of others: not under the lock. Two threads may make one at the same time, and keep the first.
    let new = make(key)
    return made.withLock { made in
      if let first = made[key] { return first }
      made[key] = new
      return new
    }
  }
}
