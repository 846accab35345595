import ArgumentParser

/// How a run tells how far it is.
enum ProgressMode: String, Sendable, CaseIterable, ExpressibleByArgument {
  /// What suits the standard error.
  case auto
  /// A panel at the bottom of a terminal.
  case full
  /// A line now and then.
  case plain
  /// A JSON object now and then.
  case json
  case none

  /// What a stream may be told.
  struct Stream: Sendable {
    var isTerminal = false
    /// The variable TERM.
    var terminal: String?
    /// Bodies go to the same terminal: a panel and they would spoil each other.
    var hasBodies = false
    var isQuiet = false
  }

  /// What `auto` is for a stream.
  func resolved(for stream: Stream) -> ProgressMode {
    guard self == .auto else { return self }
    if stream.isQuiet || stream.isTerminal && stream.hasBodies { return .none }
    // Without its name nothing is known of what a terminal can do.
    guard stream.isTerminal, let name = stream.terminal, name != "", name != "dumb" else { return .plain }
    return .full
  }
}
