import HeadgateThreads

/// Gives the files of a run their names: equal ones are numbered in the order in which they are asked for, which is that
/// of the list, and not in the order in which bodies come. The same list gets the same names each time.
///
/// What is kept of a name is a hash of 64 bits, so that a long list costs some 16 bytes a line. Two names with one hash
/// would cost the second one a number.
final class FileNames: Sendable {
  private struct State {
    var taken: Set<Int> = []
    // Where the search for a free number goes on, for names that were wished for again: else n of them cost n².
    var next: [Int: Int] = [:]
  }

  private let state = Locked(State())

  /// - Parameter existing: Names that are taken from the beginning.
  init(taken existing: some Sequence<String> = [String]()) {
    state.withLock { state in
      for name in existing { state.taken.insert(name.hashValue) }
    }
  }

  /// The name itself, or the first of `name.1`, `name.2`, … that nobody has.
  func claim(_ name: String) -> String {
    state.withLock { state in
      if state.taken.insert(name.hashValue).inserted { return name }
      var number = state.next[name.hashValue] ?? 1
      while !state.taken.insert("\(name).\(number)".hashValue).inserted { number += 1 }
      state.next[name.hashValue] = number + 1
      return "\(name).\(number)"
    }
  }

  /// Takes a name that is given already.
  func note(_ name: String) { state.withLock { _ = $0.taken.insert(name.hashValue) } }
}
