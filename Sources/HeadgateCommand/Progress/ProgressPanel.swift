/// Draws a state as the lines of a panel at the bottom of a terminal. The same state and size give the same lines.
///
///     1,204/2,000  60 %  84.1/s  12 s left
///     running 18  queued 778  failed 37  56.7 MiB  127.0.0.1:9105: paused 1.4 s by 503
///     host             running  queued  waits for
///     127.0.0.1:9105       0/4     304  paused 1.4 s by 503
///     127.0.0.1:9104       8/8     351  limit 8/8
struct ProgressPanel: Equatable, Sendable {
  var width: Int
  var height: Int
  var hasColours = false

  /// How many columns stay free, so that the `^C` which a terminal shows at an interrupt does not wrap the last line.
  static let margin = 3
  /// Below this height the panel has no rows for hosts.
  private static let leastHeight = 8

  /// The lines of the panel. Each takes at most `width - margin` columns, and there are at most `height / 2` of them,
  /// so that failures above stay visible. Empty if the terminal is too small.
  func lines(_ state: ProgressState) -> [String] {
    let columns = width - Self.margin
    guard columns >= 4, height >= 2 else { return [] }
    let most = max(1, height / 2)
    var lines = flow(head(state), columns, atMost: max(1, min(most, 2)))
    lines += flow(counts(state), columns, atMost: max(0, min(most - lines.count, 3)))
    let room = most - lines.count
    if height >= Self.leastHeight, room >= 2, columns >= 24 { lines += table(state.rows, columns, atMost: room) }
    return lines
  }

  // MARK: The head

  /// A piece of a line and its colour.
  private struct Part {
    var text: String
    var colour: Colour?
  }

  private enum Colour: String { case red = "31", yellow = "33", dim = "2", bold = "1" }

  private func head(_ state: ProgressState) -> [Part] {
    var parts = [Part(text: state.doneText + (state.total == nil ? " done" : ""), colour: .bold)]
    if let share = state.share { parts.append(Part(text: share, colour: .bold)) }
    if let rate = state.rate { parts.append(Part(text: ProgressState.text(ofRate: rate))) }
    if let left = state.left {
      parts.append(Part(text: "\(Amount.roundSeconds(left)) left"))
    } else {
      parts.append(Part(text: Amount.seconds(state.seconds)))
    }
    return parts
  }

  private func counts(_ state: ProgressState) -> [Part] {
    var parts = [
      Part(text: "running \(Amount.grouped(state.running))"), Part(text: "queued \(Amount.grouped(state.queued))"),
    ]
    if state.failed > 0 { parts.append(Part(text: "failed \(Amount.grouped(state.failed))", colour: .red)) }
    parts.append(Part(text: Amount.bytes(state.bytes)))
    let paused = state.paused
    if let first = paused.first {
      let more = paused.count > 1 ? ", and \(paused.count - 1) more" : ""
      parts.append(Part(text: "\(first.name): \(first.reason ?? "stopped")\(more)", colour: .yellow))
    }
    return parts
  }

  /// Joins parts with two spaces, in as few lines as possible.
  private func flow(_ parts: [Part], _ columns: Int, atMost most: Int) -> [String] {
    var lines: [[Part]] = []
    var used = 0
    for part in parts {
      let part = Part(text: DisplayWidth.cut(part.text, to: columns), colour: part.colour)
      let width = DisplayWidth.of(part.text)
      if lines.isEmpty || used + 2 + width > columns {
        guard lines.count < most else { break }
        lines.append([part])
        used = width
      } else {
        lines[lines.count - 1].append(part)
        used += 2 + width
      }
    }
    return lines.map { $0.map { painted($0.text, $0.colour) }.joined(separator: "  ") }
  }

  // MARK: The rows

  /// Chooses the rows to show: first end-points that are paused, then those with the most requests waiting and running.
  /// The chosen rows are sorted by name, paused ones first, so that they keep their places as the numbers change.
  static func chosen(_ rows: [ProgressState.Row], _ most: Int) -> [ProgressState.Row] {
    let ranked = rows.sorted { left, right in
      if left.isPaused != right.isPaused { return left.isPaused }
      if left.waiting != right.waiting { return left.waiting > right.waiting }
      if left.running != right.running { return left.running > right.running }
      return left.name < right.name
    }
    return ranked.prefix(most).sorted { left, right in
      left.isPaused == right.isPaused ? left.name < right.name : left.isPaused
    }
  }

  private func table(_ rows: [ProgressState.Row], _ columns: Int, atMost room: Int) -> [String] {
    guard !rows.isEmpty else { return [] }
    // One line is for the titles, and one more for the number of hosts that are not shown.
    let isAll = rows.count <= room - 1
    let shown = Self.chosen(rows, isAll ? rows.count : max(0, room - 2))
    guard !shown.isEmpty else { return [] }
    let running = shown.map { "\($0.running)/\($0.limit)" }
    let waiting = shown.map { Amount.grouped($0.waiting) }
    let runningWidth = max("running".utf8.count, running.map(\.utf8.count).max() ?? 0)
    let waitingWidth = max("queued".utf8.count, waiting.map(\.utf8.count).max() ?? 0)
    let rest = columns - runningWidth - waitingWidth - 4
    guard rest >= 6 else { return [] }
    let longest = shown.map { DisplayWidth.of($0.name) }.max() ?? 0
    // The reason column is dropped first if it would be too narrow.
    let hasReasons = rest >= 34
    let nameWidth = min(max(4, longest), hasReasons ? max(14, rest / 2) : rest)
    let reasonWidth = hasReasons ? rest - nameWidth - 2 : 0
    func line(_ name: String, _ running: String, _ waiting: String, _ reason: String) -> String {
      let cells = [
        DisplayWidth.pad(name, to: nameWidth), right(running, runningWidth), right(waiting, waitingWidth),
      ]
      return (cells + (reasonWidth > 0 && !reason.isEmpty ? [DisplayWidth.cut(reason, to: reasonWidth)] : []))
        .joined(separator: "  ")
    }
    var lines = [painted(line("host", "running", "queued", "waits for"), .dim)]
    for (place, row) in shown.enumerated() {
      let text = line(row.name, running[place], waiting[place], row.reason ?? "")
      lines.append(painted(text, row.isPaused ? .yellow : nil))
    }
    if !isAll {
      let others = rows.count - shown.count
      lines.append(painted(DisplayWidth.cut("and \(Amount.grouped(others)) more hosts", to: columns), .dim))
    }
    return lines
  }

  private func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.utf8.count)) + text
  }

  private func painted(_ text: String, _ colour: Colour?) -> String {
    guard hasColours, let colour else { return text }
    return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
  }
}
