/// How the progress of a run is shown.
enum ProgressMode: String, Sendable, CaseIterable {
  /// Chosen by the properties of standard error.
  case auto
  /// A panel at the bottom of a terminal.
  case full
  /// Periodic lines.
  case plain
  /// Periodic JSON objects.
  case json
  case none

  /// The properties of the stream.
  struct Stream: Sendable {
    var isTerminal = false
    /// The variable TERM.
    var terminal: String?
    /// Whether bodies go to the same terminal, where a panel would garble them.
    var hasBodies = false
    var isQuiet = false
  }

  /// The mode that `auto` stands for with a stream.
  func resolved(for stream: Stream) -> ProgressMode {
    guard self == .auto else { return self }
    if stream.isQuiet || stream.isTerminal && stream.hasBodies { return .none }
    // Without a name, the terminal's capabilities are unknown.
    guard stream.isTerminal, let name = stream.terminal, name != "", name != "dumb" else { return .plain }
    return .full
  }
}
