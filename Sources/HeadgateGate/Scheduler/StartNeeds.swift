import HeadgateThreads

/// What a request needs in order to start, besides a permit of its end-point.
@usableFromInline
package struct StartNeeds: Sendable {
  /// Without duplicates.
  let scopes: [RequestScope]
  let weights: [String: Int]
  /// It has a socket of its own, also where others share one.
  let needsSocket: Bool

  @usableFromInline
  package init(scopes: [RequestScope] = [], weights: [String: Int] = [:], needsSocket: Bool = false) {
    // Requests name few scopes: comparing them costs less than a set.
    let isRepeated = scopes.indices.contains { scopes[..<$0].contains(scopes[$0]) }
    self.scopes = isRepeated ? scopes.indices.filter { !scopes[..<$0].contains(scopes[$0]) }.map { scopes[$0] } : scopes
    self.weights = weights
    self.needsSocket = needsSocket
  }

  /// Nil if there are no needs. Inlinable, because a call from the dispatcher's module copied all fields of a request.
  @inlinable
  package static func of(
    _ scopes: [RequestScope], _ weights: [String: Int], needsSocket: Bool = false
  ) -> StartNeeds? {
    scopes.isEmpty && weights.isEmpty && !needsSocket
      ? nil : StartNeeds(scopes: scopes, weights: weights, needsSocket: needsSocket)
  }
}

/// The scheduler's data about a request that needs more than a permit, or that was counted by a limit on starts.
struct Demand: Sendable {
  var weights: [String: Int] = [:]
  // Places in the scope table, in the order of the request's scopes. Last, if it needs one, the sockets of its end-point.
  var scopes: [Int32] = []
  var needsSocket = false
  // The line in which it waits with requests of the same scopes, or -1.
  var line: Int32 = -1
  // After the start: how each of its scopes has counted it.
  var charges: [Charge] = []

  /// The scopes that the request itself names.
  var named: ArraySlice<Int32> { scopes.dropLast(needsSocket ? 1 : 0) }
}

/// A start as counted by one scope.
struct Charge: Sendable {
  let scope: Int32
  // Nil if the scope does not limit starts.
  let reservation: StartReservation?
  // Nil if the scope does not track health.
  let mark: UInt32?
  // Nil if nothing is learned, or the response has been reported.
  var start: AdaptiveLimit.Start?
}

/// Entries in reusable places.
struct SlotTable<Entry: Sendable>: Sendable {
  // A removed entry stays until its place is reused. As optionals, entries would be copied with each access, and the
  // record of a scope has half a kilobyte.
  private var entries: [Entry] = []
  private var free: [Int32] = []

  var isEmpty: Bool { entries.count == free.count }

  /// The places in use. O(n).
  var slots: [Int32] {
    let free = Set(free)
    return entries.indices.lazy.map { Int32($0) }.filter { !free.contains($0) }
  }

  mutating func insert(_ entry: Entry) -> Int32 {
    if let slot = free.popLast() {
      entries[Int(slot)] = entry
      return slot
    }
    entries.append(entry)
    return Int32(entries.count - 1)
  }

  /// The place must be in use. What the entry refers to is released when its place is reused.
  mutating func remove(_ slot: Int32) {
    free.append(slot)
    // A burst leaves no memory behind, and requests that come one by one allocate none each time.
    if isEmpty, entries.count > 64 { (entries, free) = ([], []) }
  }

  /// The place must be in use.
  subscript(slot: Int32) -> Entry {
    _read { yield entries[Int(slot)] }
    _modify { yield &entries[Int(slot)] }
  }
}
