// The three date formats that RFC 9110 section 5.6.7 requires recipients to accept. The name of the day is redundant
// and is not checked.

import HTTPTypes
import HeadgateLibC

enum HTTPDate {
  /// The current time, in seconds since 1970.
  static var now: Int { time(nil) }

  /// The time by the clock of a server: that of its `Date` field, or our own without a valid one.
  static func now(by date: String?, own now: Int = HTTPDate.now) -> Int {
    date.flatMap { seconds($0, now: now) } ?? now
  }

  /// The seconds since 1970 of a date of RFC 3339, such as `2026-03-01T12:00:00Z`. A fraction counts as a whole
  /// second: what is to begin then has not begun before. Nil if the text is not such a date.
  static func internetSeconds(_ text: String) -> Int? {
    let bytes = Array(text.utf8)
    guard (20...40).contains(bytes.count), bytes[10] | 0x20 == UInt8(ascii: "t") else { return nil }
    func part(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    guard bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), let month = number(part(5..<7), 2...2),
      months.indices.contains(month - 1),
      let local = seconds(
        year: number(part(0..<4), 4...4), months[month - 1], number(part(8..<10), 2...2), part(11..<19))
    else { return nil }
    var zone = bytes[19...]
    var moment = local
    if zone.first == UInt8(ascii: ".") {
      let fraction = zone.dropFirst().prefix { (48...57).contains($0) }
      if fraction.contains(where: { $0 != UInt8(ascii: "0") }) { moment += 1 }
      zone = zone.dropFirst(1 + fraction.count)
    }
    switch zone.count {
    case 1 where zone.first.map { $0 | 0x20 } == UInt8(ascii: "z"): return moment
    case 6 where zone[zone.startIndex + 3] == UInt8(ascii: ":"):
      let start = zone.startIndex
      guard let hours = number(part(start + 1..<start + 3), 2...2),
        let minutes = number(part(start + 4..<start + 6), 2...2)
      else { return nil }
      let offset = hours * 3600 + minutes * 60
      switch zone.first {
      case UInt8(ascii: "+"): return moment - offset
      case UInt8(ascii: "-"): return moment + offset
      default: return nil
      }
    default: return nil
    }
  }

  /// The seconds since 1970. Nil if the text is not a date.
  ///
  /// - Parameter now: The current time, in seconds since 1970. A year of two digits is at most 50 years ahead of it.
  static func seconds(_ text: String, now: Int) -> Int? {
    // No valid date is longer, and longer text is not parsed.
    guard text.utf8.count <= 40 else { return nil }
    let parts = text.split(separator: " ").map(String.init)
    switch parts.count {
    case 6 where parts[5] == "GMT":  // Sun, 06 Nov 1994 08:49:37 GMT
      return seconds(year: number(parts[3], 4...4), parts[2], number(parts[1], 2...2), parts[4])
    case 4 where parts[3] == "GMT":  // Sunday, 06-Nov-94 08:49:37 GMT
      let date = parts[1].split(separator: "-").map(String.init)
      guard date.count == 3, let short = number(date[2], 2...2) else { return nil }
      let present = year(ofDay: now / 86_400)
      var year = present - present % 100 + short
      if year > present + 50 { year -= 100 }
      return seconds(year: year, date[1], number(date[0], 2...2), parts[2])
    case 5:  // Sun Nov  6 08:49:37 1994
      return seconds(year: number(parts[4], 4...4), parts[1], number(parts[2], 1...2), parts[3])
    default: return nil
    }
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private static func number(_ text: String, _ digits: ClosedRange<Int>) -> Int? {
    guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int(text)
  }

  private static func seconds(year: Int?, _ month: String, _ day: Int?, _ clock: String) -> Int? {
    guard let year, (1900...9999).contains(year), let month = months.firstIndex(of: month), let day,
      (1...31).contains(day)
    else { return nil }
    let clock = clock.split(separator: ":").map { number(String($0), 2...2) ?? -1 }
    guard clock.count == 3, (0..<24).contains(clock[0]), (0..<60).contains(clock[1]), (0...60).contains(clock[2])
    else { return nil }
    return days(year, month + 1, day) * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
  }

  // The days since 1970. March counts as the first month, so the leap day is the last day of a year.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return year * 365 + year / 4 - year / 100 + year / 400 + ofYear - 719_468
  }

  // Exact to within a day, which is enough to determine the century.
  private static func year(ofDay day: Int) -> Int { 1970 + Int(Double(day) / 365.2425) }
}

extension ResponseHead {
  /// The date of `Last-Modified`, in seconds since 1970. Nil without a valid one.
  package var modified: Int? { self[.lastModified].flatMap(Self.seconds(ofDate:)) }

  /// The seconds since 1970 of a date in a field. Nil if the text is not a date.
  package static func seconds(ofDate text: String) -> Int? { HTTPDate.seconds(text, now: HTTPDate.now) }
}
