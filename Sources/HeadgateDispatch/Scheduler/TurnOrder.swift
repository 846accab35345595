// Turns in proportion to weights: stride scheduling.
// C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource Management" (1995).
//
// Rejected: a ring where each takes as many turns in a row as it weighs (deficit round robin). An end-point that is at
// its own limit leaves the ring in the middle of its turn, and small limits would undo the weights.

import HeadgateThreads

/// The end-points that take turns at the total limit: each of them could start its next request of this class if only
/// the total had room. The one that has had least for its weight is first. All operations are O(log n).
struct TurnOrder: Sendable {
  /// How far one start takes an end-point of weight 1.
  static let stride: UInt64 = 1 << 20

  let lane: RequestLane
  // By the pass, which is how far an end-point has come: what it started, divided by its weight. Among equals the one
  // that joined first, counted over all orders.
  private var heap = RankHeap()

  init(_ lane: RequestLane) { self.lane = lane }

  /// Whose turn it is; nil when no end-point takes part.
  var first: RankHeap.Key? { heap.first }

  var isEmpty: Bool { heap.isEmpty }

  /// Lets an end-point take part if it could start something, and only then.
  ///
  /// - Parameters:
  ///   - virtualTime: How far those have come who had their turn last. An end-point saves no turns up by having nothing to start.
  ///   - stamp: How many have joined so far.
  mutating func update(_ place: Int32, virtualTime: UInt64, stamp: inout UInt64, in endPoints: inout EndPointTable) {
    guard endPoints[place].isEligible(lane) else { return remove(place, in: &endPoints) }
    guard endPoints[place][turn: lane] < 0 else { return }
    stamp += 1
    let pass = max(endPoints[place].pass, virtualTime)
    endPoints[place].pass = pass
    endPoints[place][turn: lane] = heap.insert(RankHeap.Key(rank: pass, tie: stamp, place: place))
  }

  /// Takes an end-point out, where it takes part.
  mutating func remove(_ place: Int32, in endPoints: inout EndPointTable) {
    let handle = endPoints[place][turn: lane]
    guard handle >= 0 else { return }
    heap.remove(handle)
    endPoints[place][turn: lane] = -1
  }
}
