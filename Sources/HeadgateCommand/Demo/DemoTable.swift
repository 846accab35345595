/// The results of one way of doing the work, as counted by the origin and by the client.
struct DemoRow: Sendable, Equatable {
  let name: String
  /// The maximum at a time at one end-point.
  let sockets: Int
  let requests: Int
  let served: Int
  let timedOut: Int
  let failed: Int
  let seconds: Double
  /// What the numbers show.
  let explanation: String
}

/// The demo's table, printed line by line.
enum DemoTable {
  static let head = line(["", "sockets", "requests", "served", "timed out", "time"])

  static func text(_ row: DemoRow) -> String {
    let cells = line([
      row.name, "\(row.sockets)", "\(row.requests)", "\(row.served)", "\(row.timedOut)",
      Amount.fixed(row.seconds, 1) + " s",
    ])
    let failed = row.failed > 0 ? "\n  (\(row.failed) more failed in another way)" : ""
    return "\(cells)\(failed)\n  \(row.explanation)\n"
  }

  private static func line(_ cells: [String]) -> String {
    let widths = [12, 9, 10, 9, 11, 9]
    var line = ""
    for (index, (cell, width)) in zip(cells, widths).enumerated() {
      let padding = String(repeating: " ", count: max(0, width - cell.count))
      line += index == 0 ? cell + padding : padding + cell
    }
    return line
  }
}
