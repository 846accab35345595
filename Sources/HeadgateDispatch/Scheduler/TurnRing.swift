/// An end-point's place in a ring.
struct TurnLink: Sendable {
  var next: Int32 = -1
  var previous: Int32 = -1
  // When it joined, counted over all rings: the lower one is served first.
  var stamp: UInt64 = 0
  var isIn = false
}

/// The end-points that take turns at the total limit: each of them could start its next request of this ring's class
/// if only the total had room. One that has started a request goes to the end. All operations are O(1).
struct TurnRing: Sendable {
  let requestClass: RequestClass
  private(set) var first: Int32 = -1
  private var last: Int32 = -1

  init(_ requestClass: RequestClass) { self.requestClass = requestClass }

  mutating func append(_ slot: Int32, stamp: UInt64, in endPoints: inout EndPointTable) {
    endPoints[slot][turn: requestClass] = TurnLink(next: -1, previous: last, stamp: stamp, isIn: true)
    if last >= 0 { endPoints[last][turn: requestClass].next = slot } else { first = slot }
    last = slot
  }

  mutating func remove(_ slot: Int32, in endPoints: inout EndPointTable) {
    let link = endPoints[slot][turn: requestClass]
    if link.previous >= 0 { endPoints[link.previous][turn: requestClass].next = link.next } else { first = link.next }
    if link.next >= 0 {
      endPoints[link.next][turn: requestClass].previous = link.previous
    } else {
      last = link.previous
    }
    endPoints[slot][turn: requestClass] = TurnLink()
  }
}
