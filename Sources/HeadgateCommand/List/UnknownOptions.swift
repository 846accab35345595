import HeadgateThreads

/// Reports each unsupported option of lists once.
final class UnknownOptions: Sendable {
  /// The maximum number of names, which come from lists.
  private static let most = 30

  private let told = Locked(Set<String>())

  /// Whether a name is to be reported.
  func isNew(_ name: String) -> Bool { told.withLock { $0.count < Self.most && $0.insert(name).inserted } }
}
