/// Times as written in the log, in UTC.
enum LogTime {
  /// Seconds since 1970 of `2026-11-24T03:04:05.678Z`; nil for all other forms.
  static func seconds(_ text: String) -> Double? {
    let bytes = Array(text.utf8)
    guard bytes.count >= 20, bytes.count <= 32, bytes.last == UInt8(ascii: "Z") else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      guard bytes[range].allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      return Int(String(decoding: bytes[range], as: UTF8.self))
    }
    let marks: [(Int, Unicode.Scalar)] = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")]
    guard marks.allSatisfy({ bytes[$0.0] == UInt8(ascii: $0.1) }),
      let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    var fraction = 0.0
    if bytes[19] == UInt8(ascii: "."), let digits = number(20..<(bytes.count - 1)) {
      fraction = Double(digits)
      for _ in 20..<(bytes.count - 1) { fraction /= 10 }
    }
    return Double(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) + fraction
  }

  /// The text that `seconds` parses.
  static func text(_ seconds: Double) -> String {
    // No time of a log is later than the year 9999.
    let milliseconds = Int((min(max(0, seconds), 2.5e11) * 1000).rounded())
    let (day, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000)
    let (year, month, date) = civil(day)
    func digits(_ value: Int, _ width: Int = 2) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
    let time = "\(digits(rest / 3_600_000)):\(digits(rest / 60_000 % 60)):\(digits(rest / 1000 % 60))"
    return "\(digits(year, 4))-\(digits(month))-\(digits(date))T\(time).\(digits(rest % 1000, 3))Z"
  }

  // Years begin in March, so that the leap day is the last day.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
  }

  private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
    let days = days + 719_468
    let (era, dayOfEra) = (days / 146_097, days % 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let place = (5 * dayOfYear + 2) / 153
    let month = place < 10 ? place + 3 : place - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * place + 2) / 5 + 1)
  }
}
