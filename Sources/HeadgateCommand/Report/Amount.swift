/// Numbers in readable form.
enum Amount {
  /// `812 B`, `12.3 KiB`, `1.2 GiB`.
  static func bytes(_ count: Int) -> String {
    guard count >= 1024 else { return "\(count) B" }
    var amount = Double(count) / 1024
    var unit = 0
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
    // A value that rounds to 1024.0 is shown in the next unit.
    while amount >= 1023.95, unit < units.count - 1 {
      amount /= 1024
      unit += 1
    }
    return "\(fixed(amount, 1)) \(units[unit])"
  }

  /// `0.41 s`, `41 s`, `3 min 5 s`, `2 h 10 min`.
  static func seconds(_ seconds: Double) -> String {
    if seconds < 9.995 { return "\(fixed(max(0, seconds), 2)) s" }
    let whole = Int(seconds.rounded())
    if whole < 100 { return "\(whole) s" }
    if whole < 6000 { return "\(whole / 60) min \(whole % 60) s" }
    return "\(whole / 3600) h \(whole % 3600 / 60) min"
  }

  /// Formats a value with this number of decimals, independent of the locale.
  static func fixed(_ value: Double, _ decimals: Int) -> String {
    guard value.isFinite, value.magnitude < 1e12 else { return "0" }
    var scale = 1
    for _ in 0..<decimals { scale *= 10 }
    let scaled = Int((value.magnitude * Double(scale)).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard decimals > 0 else { return "\(sign)\(scaled)" }
    let fraction = String(scaled % scale)
    return "\(sign)\(scaled / scale).\(String(repeating: "0", count: decimals - fraction.utf8.count))\(fraction)"
  }
}
