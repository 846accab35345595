// The state as one line, for files, pipes and programs.

extension ProgressState {
  /// `1,204/2,000 done (60 %)  84.1/s  12 s left  running 18  queued 778  failed 37  56.7 MiB`, and the pauses.
  var plain: String {
    var parts = [doneText + " done" + (share.map { " (\($0))" } ?? "")]
    if let rate { parts.append(ProgressState.text(ofRate: rate)) }
    if let left { parts.append("\(Amount.roundSeconds(left)) left") }
    parts += ["running \(Amount.grouped(running))", "queued \(Amount.grouped(queued))"]
    if failed > 0 { parts.append("failed \(Amount.grouped(failed))") }
    parts.append(Amount.bytes(bytes))
    let paused = paused
    if !paused.isEmpty {
      let first = paused.prefix(3).map { "\($0.name): \($0.reason ?? "stopped")" }.joined(separator: ", ")
      parts.append("paused \(paused.count) (\(first)\(paused.count > 3 ? ", and others" : ""))")
    }
    return parts.joined(separator: "  ")
  }

  var json: String {
    var line = JSONLine()
    line.add("event", "progress")
    line.add("done", done)
    line.add("total", total)
    line.add("running", running)
    line.add("queued", queued)
    line.add("failed", failed)
    line.add("bytes", bytes)
    line.add("seconds", seconds: seconds)
    line.add("per_second", seconds: rate)
    line.add("seconds_left", seconds: left)
    line.add(
      "paused",
      paused.map { row in
        var line = JSONLine()
        line.add("end_point", row.name)
        line.add("waiting", row.waiting)
        line.add("reason", row.reason)
        return line
      })
    return line.line
  }

  /// `1,204/2,000`, or `1,204` while the total is unknown.
  var doneText: String { Amount.grouped(done) + (total.map { "/" + Amount.grouped($0) } ?? "") }

  /// Never 100 % before the end.
  var share: String? {
    guard let total, total > 0 else { return nil }
    return "\(min(100, Int(Double(done) / Double(total) * 100))) %"
  }

  static func text(ofRate rate: Double) -> String {
    rate < 99.95 ? "\(Amount.fixed(rate, 1))/s" : "\(Amount.grouped(Int(min(rate, 1e12).rounded())))/s"
  }
}

extension Amount {
  /// `1,234,567`.
  static func grouped(_ count: Int) -> String {
    let digits = String(count.magnitude)
    var text = ""
    for (place, digit) in digits.enumerated() {
      if place > 0, (digits.utf8.count - place).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return (count < 0 ? "-" : "") + text
  }

  /// Without decimals, since it is an estimate: `1 s`, `3 min 5 s`.
  static func roundSeconds(_ value: Double) -> String {
    value < 9.995 ? "\(max(1, Int(max(0, value).rounded()))) s" : seconds(min(value, 1e9))
  }
}
