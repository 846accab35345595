/// The one line that a terminal shows while the run is under way.
struct ProgressLine: Equatable, Sendable {
  var done = 0
  /// How many there are in all; nil while the list is still being read.
  var total: Int?
  var running = 0
  var waiting = 0
  var failed = 0
  var bytes = 0
  var seconds = 0.0

  /// The line, cut to a terminal's width so that it never wraps, nor when the terminal writes `^C` behind it: what is
  /// wrapped that way can't be erased.
  func text(columns: Int) -> String {
    var parts = [total.map { "\(done)/\($0)" } ?? "\(done) done", "running \(running)", "waiting \(waiting)"]
    if failed > 0 { parts.append("failed \(failed)") }
    parts += [Amount.bytes(bytes), Amount.seconds(seconds)]
    return String(parts.joined(separator: "  ").prefix(max(0, columns - 3)))
  }
}
