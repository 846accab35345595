import HeadgateThreads

/// Gives the files of a run their names: equal ones are numbered in the order in which they are asked for, which is that
/// of the list, and not in the order in which bodies come. The same list gets the same names each time.
///
/// What is kept of a name is a hash of 56 bits, so that a long list costs some 8 bytes a line. Two names with one hash
/// would cost the second one a number.
final class FileNames: Sendable {
  /// Up to this number the search for a free one begins at 1 each time: names that are wished for a few times, which may
  /// be all of a long list, cost no entry in `next`.
  private static let mostSearched = 8

  private struct State {
    var taken = NameHashes()
    // Where the search for a free number goes on, for names that were wished for often: else n of them cost n².
    var next: [Int: Int] = [:]
  }

  private let state = Locked(State())

  /// - Parameter existing: Names that are taken from the beginning.
  init(taken existing: some Sequence<String> = [String]()) {
    state.withLock { state in
      for name in existing { _ = state.taken.insert(name.hashValue) }
    }
  }

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
