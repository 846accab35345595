// How long a server asks to be left alone: RFC 9110 section 10.2.3, a number of seconds or a date as section 5.6.7 writes
// it. The two date forms of the past are not read.

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

enum RetryAfter {
  /// The wait that a field's value asks for; nil when it can't be read. A date that has passed asks for none.
  static func wait(_ value: String, now: Int = time(nil)) -> Duration? {
    let digits = value.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    if digits, !value.isEmpty { return .seconds(Int64(value) ?? Int64(Int32.max)) }
    return seconds(ofDate: value).map { .seconds(max(0, $0 - now)) }
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  // Sun, 06 Nov 1994 08:49:37 GMT
  private static func seconds(ofDate text: String) -> Int? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]), (1...31).contains(day),
      let month = months.firstIndex(of: String(parts[2])), let year = Int(parts[3]), (1970...9999).contains(year)
    else { return nil }
    let clock = parts[4].split(separator: ":").map { Int($0) ?? -1 }
    guard clock.count == 3, (0..<24).contains(clock[0]), (0..<60).contains(clock[1]), (0...60).contains(clock[2])
    else { return nil }
    return days(year, month + 1, day) * 86400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
  }

  // The days since 1970: March is the first month here, so that the leap day is a year's last.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return year * 365 + year / 4 - year / 100 + year / 400 + ofYear - 719_468
  }
}
