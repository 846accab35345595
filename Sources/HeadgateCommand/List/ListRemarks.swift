import HeadgateDispatch

/// Remarks about unsupported parts of lists, each kind once.
struct ListRemarks: Sendable {
  /// The maximum number of options, whose names come from lists.
  private static let most = 30

  private var options: Set<String> = []
  private var hasLeftOut = false

  /// The remarks about an entry that were not made before.
  ///
  /// - Parameters:
  ///   - leftOut: Its invalid mirrors.
  ///   - place: The list and the line.
  mutating func about(_ entry: ListEntry, _ leftOut: [String], at place: String) -> [String] {
    var remarks: [String] = []
    for name in entry.unknown where options.count < Self.most && options.insert(name).inserted {
      remarks.append("\(place): the option \(name)= is not supported and is ignored in all lists")
    }
    if let url = leftOut.first, !hasLeftOut {
      hasLeftOut = true
      remarks.append("\(place): \(ShownText.withoutPassword(url)) is not a valid URL; such mirrors are left out")
    }
    return remarks
  }
}
