import HeadgateDispatch
import HeadgateThreads

/// Remarks about unsupported parts of lists, each kind once.
final class ListRemarks: Sendable {
  /// The maximum number of options, whose names come from lists.
  private static let most = 30

  private struct State {
    var options: Set<String> = []
    var hasLeftOut = false
  }

  private let state = Locked(State())

  /// The remarks about an entry that were not made before.
  ///
  /// - Parameters:
  ///   - leftOut: Its invalid mirrors.
  ///   - place: The list and the line.
  func about(_ entry: ListEntry, _ leftOut: [String], at place: String) -> [String] {
    guard !entry.unknown.isEmpty || !leftOut.isEmpty else { return [] }
    return state.withLock { state in
      let names = entry.unknown.filter { state.options.count < Self.most && state.options.insert($0).inserted }
      var remarks = names.map { "\(place): the option \($0)= is not supported and is ignored in all lists" }
      if let url = leftOut.first, !state.hasLeftOut {
        state.hasLeftOut = true
        remarks.append("\(place): \(ShownText.withoutPassword(url)) is not a valid URL; such mirrors are left out")
      }
      return remarks
    }
  }
}
