/// The permits that requests of a dispatcher keep while interceptors prepare them again, as a value.
///
/// A request whose preparation is outdated when it gets its permit keeps the permit meanwhile. If it gave the permit
/// back, each request that waits would get it, be outdated too, and leave the queue: a renewal of a token would take
/// the whole queue apart. But the work may itself need a permit. So permits are returned while a request of an
/// interceptor waits, and when the work takes longer than a second.
struct HeldPermits<Holder: AnyObject> {
  private var holders: [ObjectIdentifier: Holder] = [:]
  /// The requests of interceptors that are on their way to a permit.
  private var needy: Set<ObjectIdentifier> = []
  /// A preparation took too long, and none has ended since. The slow one may be waiting for a request that is not known
  /// to be an interceptor's.
  private var isSlow = false

  /// A request with a permit must be prepared again. Returns whether it keeps the permit.
  mutating func hold(_ holder: Holder) -> Bool {
    guard needy.isEmpty, !isSlow else { return false }
    holders[ObjectIdentifier(holder)] = holder
    return true
  }

  /// It is prepared, and is sent under its permit.
  mutating func prepared(_ holder: Holder) {
    isSlow = false
    holders[ObjectIdentifier(holder)] = nil
  }

  /// Its preparation takes too long, and it returns the permit. Until a preparation ends, no other request keeps its own.
  /// Those that do already have their own patience.
  mutating func tooSlow(_ holder: Holder) {
    isSlow = true
    holders[ObjectIdentifier(holder)] = nil
  }

  /// A request of an interceptor is about to be submitted. From now on no permit is kept.
  mutating func submits(_ request: Holder) { needy.insert(ObjectIdentifier(request)) }

  /// It waits for its permit. Returns the requests that must return theirs. None if it has been granted the permit in
  /// the meantime.
  mutating func waits(_ request: Holder) -> [Holder] {
    guard needy.contains(ObjectIdentifier(request)) else { return [] }
    defer { holders = [:] }
    return Array(holders.values)
  }

  /// A request got its permit, or has ended.
  mutating func leave(_ request: Holder) {
    holders[ObjectIdentifier(request)] = nil
    needy.remove(ObjectIdentifier(request))
  }
}
