import HeadgateThreads

/// Which number to try next for a name that is taken.
///
/// Without it each of n files of one name would try all numbers before its own, which is n² attempts. It only saves
/// attempts: what is taken is found out by trying, so names may be taken and become free by other hands.
final class FileNumbers: Sendable {
  /// For all files of the process.
  static let shared = FileNumbers()

  // The lowest numbers are tried each time: where there are few files, gaps among them are filled.
  static let alwaysTried = 8

  // Beyond that many names it begins anew: then a name costs as much as it would without.
  private static let mostNames = 1_024

  private let next = Locked<[String: Int]>([:])

  /// The first number that is free, of the lowest ones, or else from where the last search for this name ended, or else
  /// of all.
  ///
  /// - Parameters:
  ///   - name: What is numbered.
  ///   - limit: The numbers end below it.
  ///   - attempt: Takes a number. Returns nil when it is taken already.
  /// - Returns: What `attempt` returned; nil: all are taken.
  func claim<Claimed>(
    _ name: String, below limit: Int, _ attempt: (Int) throws(DispatchError) -> Claimed?
  ) throws(DispatchError) -> Claimed? {
    let few = min(Self.alwaysTried, limit)
    for number in 0..<few { if let claimed = try attempt(number) { return claimed } }
    let start = min(max(few, next.withLock { $0[name] } ?? few), limit)
    for number in [start..<limit, few..<start].joined() {
      guard let claimed = try attempt(number) else { continue }
      note(number + 1, for: name)
      return claimed
    }
    return nil
  }

  private func note(_ number: Int, for name: String) {
    next.withLock { next in
      if next.count >= Self.mostNames, next[name] == nil { next.removeAll() }
      next[name] = number
    }
  }
}
