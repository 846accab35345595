/// What came of a contest: which slots make up the result, and which are left over.
struct ContestOutcome: Sendable {
  enum Verdict: Sendable {
    /// Of `firstToSucceed`, `race`, `firstMatching`: whose success it is.
    case winner(Int)
    /// Of `allSucceed` and `quorum`: how many have succeeded.
    case values(Int)
    /// Of `allSettled`: how each has ended; and why, for those that have not.
    case ends(FlowErrorCode)
    /// Why there is no success, and which input decided that.
    case failure(FlowErrorCode, deciding: Int?)
  }

  let verdict: Verdict
  /// How each has ended whose slot is kept; empty if there is none.
  let ends: [ContestEnd?]
  /// Why there was no answer, where that was told.
  let codes: [Int: FlowErrorCode]

  /// The numbers of those that have ended so and are kept, in their order.
  func indices(of end: ContestEnd) -> some Sequence<Int> { ends.indices.lazy.filter { ends[$0] == end } }

  /// The slots that are kept and not a part of the result, and whether a success or a failure stands there.
  func forEachLeftover(_ body: (Int, ContestEnd) -> Void) {
    switch verdict {
    // What was kept beside a winner, or beside enough of them, are failures.
    case .winner, .values: for index in indices(of: .failure) { body(index, .failure) }
    case .failure: for index in indices(of: .success) { body(index, .success) }
    case .ends: break
    }
  }
}
