import HeadgateThreads

/// Finds the next free number for a file name that is taken.
///
/// Without it, each of n files with the same name would try all lower numbers, n² attempts in total. It only saves
/// attempts: whether a name is free is decided by trying, since other processes may take and free names.
final class FileNumbers: Sendable {
  /// Shared by all files of the process.
  static let shared = FileNumbers()

  // The lowest numbers are always tried, so that gaps are filled where there are few files.
  static let alwaysTried = 8

  // The cache is emptied beyond this number of names. A name that is not cached costs as many attempts as without a
  // cache.
  private static let mostNames = 1_024

  private let next = Locked<[String: Int]>([:])

  /// Claims the first free number. Tries the lowest ones, then those from where the last search for this name ended,
  /// then all.
  ///
  /// - Parameters:
  ///   - name: The name to number.
  ///   - limit: The exclusive upper bound of the numbers.
  ///   - attempt: Tries to claim a number. Returns nil if it is taken.
  /// - Returns: The result of `attempt`; nil if all numbers are taken.
  func claim<Claimed>(
    _ name: String, below limit: Int, _ attempt: (Int) throws(DispatchError) -> Claimed?
  ) throws(DispatchError) -> Claimed? {
    let few = min(Self.alwaysTried, limit)
    for number in 0..<few { if let claimed = try attempt(number) { return claimed } }
    let start = min(max(few, next.withLock { $0[name] } ?? few), limit)
    for number in [start..<limit, few..<start].joined() {
      guard let claimed = try attempt(number) else { continue }
      next.withLock { next in
        if next.count >= Self.mostNames, next[name] == nil { next.removeAll() }
        next[name] = number + 1
      }
      return claimed
    }
    return nil
  }
}
