// Turns in proportion to weights: stride scheduling.
// C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource Management" (1995).
//
// Rejected: a ring in which each end-point takes as many turns in a row as it weighs (deficit round robin). An
// end-point that reaches its own limit leaves the ring in the middle of its turn, so small limits would cancel out the
// weights.

import HeadgateThreads

/// The end-points that take turns at the total limit: each could start its next request of this lane if the total had
/// room. The one that has had the least for its weight is first. All operations are O(log n).
struct TurnOrder: Sendable {
  /// How far one start advances an end-point of weight 1.
  static let stride: UInt64 = 1 << 20

  let lane: RequestLane
  // Ordered by pass, the progress of an end-point: its starts divided by its weight. Among equals, the first to join,
  // counted over all orders.
  private var heap = RankHeap()

  init(_ lane: RequestLane) { self.lane = lane }

  /// The end-point that has its turn. Nil if none takes part.
  var first: RankHeap.Key? { heap.first }

  var isEmpty: Bool { heap.isEmpty }

  /// Makes an end-point take part if it could start a request, and only then.
  ///
  /// - Parameters:
  ///   - virtualTime: The progress of the end-points that had their turn last. An end-point with nothing to start saves
  ///     up no turns.
  ///   - stamp: The number of joins so far.
  mutating func update(_ place: Int32, virtualTime: UInt64, stamp: inout UInt64, in endPoints: inout EndPointTable) {
    guard endPoints[place].isEligible(lane) else { return remove(place, in: &endPoints) }
    guard endPoints[place].turns[lane] < 0 else { return }
    stamp += 1
    let pass = max(endPoints[place].pass, virtualTime)
    endPoints[place].pass = pass
    endPoints[place].turns[lane] = heap.insert(RankHeap.Key(rank: pass, tie: stamp, place: place))
  }

  /// Removes an end-point, if it takes part.
  mutating func remove(_ place: Int32, in endPoints: inout EndPointTable) {
    let handle = endPoints[place].turns[lane]
    guard handle >= 0 else { return }
    heap.remove(handle)
    endPoints[place].turns[lane] = -1
  }
}
