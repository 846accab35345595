import HeadgateThreads

/// Assigns the file names of a run. Equal names are numbered in the order of the list and not in that of completion, so
/// the same list always gets the same names.
///
/// It stores only a 56-bit hash of each name, about 8 bytes a line. If two different names have the same hash, the
/// second one gets a number that it does not need.
final class FileNames: Sendable {
  /// Up to this number, each search for a free number begins at 1. Names that occur a few times, which may be all of a
  /// long list, then need no entry in `next`.
  private static let mostSearched = 8

  private struct State {
    var taken = NameHashes()
    /// Those of the taken names that are of files from before the run.
    var existing = NameHashes()
    // Where the search continues for frequent names. Without it, n equal names would cost n².
    var next: [Int: Int] = [:]
  }

  private let state = Locked(State())

  /// - Parameters:
  ///   - taken: Names that are taken from the start, and are not those of bodies.
  ///   - existing: The names of existing files, which are taken too.
  init(taken: some Sequence<String> = [String](), existing: some Sequence<String> = [String]()) {
    for name in taken { _ = take(name) }
    for name in existing { takeExisting(name) }
  }

  /// Marks the name of an existing file as taken.
  func takeExisting(_ name: String) {
    state.withLock { state in
      if state.taken.insert(name.hashValue) { _ = state.existing.insert(name.hashValue) }
    }
  }

  /// Whether a name is that of a file from before the run.
  func existed(_ name: String) -> Bool { state.withLock { $0.existing.contains(name.hashValue) } }

  /// Marks a name as taken. Returns whether it was free.
  func take(_ name: String) -> Bool { state.withLock { $0.taken.insert(name.hashValue) } }

  /// The name itself, or the first of `name.1`, `name.2`, … that is free.
  func claim(_ name: String) -> String {
    state.withLock { state in
      let hash = name.hashValue
      if state.taken.insert(hash) { return name }
      var number = state.next[hash] ?? 1
      while !state.taken.insert("\(name).\(number)".hashValue) { number += 1 }
      if number >= Self.mostSearched { state.next[hash] = number + 1 }
      return "\(name).\(number)"
    }
  }
}
