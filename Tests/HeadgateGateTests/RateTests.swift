import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

@Suite struct RateTests {
  @Test(
    "a rate as text: per second it is spaced, per longer period it is rolling",
    arguments: [
      ("10/s", Rate.Form.spaced, 10, 1), ("1/sec", .spaced, 1, 1), ("100/min", .rolling, 100, 60),
      ("3/m", .rolling, 3, 60),
      ("5000/h", .rolling, 5000, 3600), ("20000/d", .rolling, 20000, 86_400),
    ])
  func text(text: String, form: Rate.Form, count: Int, seconds: Int) throws {
    let rate = try Rate(text)
    #expect(rate.form == form && rate.count == count && rate.period == .seconds(seconds))
    #expect(try Rate("\(rate)") == rate)
  }

  @Test(
    "an invalid rate is refused",
    arguments: [
      "", "/", "10", "10/", "/s", "0/s", "-1/s", "+1/s", "1.5/s", "10/s/s", "10/fortnight", "100001/min", "10 /s",
      "1000000001/s", "99999999999999999999/s", String(repeating: "9", count: 100_000) + "/h",
    ])
  func noText(text: String) { #expect(throws: LimitError.self) { try Rate(text) } }

  @Test("an impossible period or spread is refused")
  func range() {
    for period in [Duration.zero, .seconds(-1), .seconds(Int64.max), .nanoseconds(9)] {
      #expect(throws: LimitError.self) { try Rate.spaced(10, per: period) }
    }
    #expect(throws: LimitError.self) { try Rate.rolling(0, per: .seconds(1)) }
    #expect(throws: LimitError.self) { try Rate.rolling(1, per: .seconds(1), spread: .seconds(-1)) }
    #expect(throws: LimitError.self) { try Rate.rolling(1, per: .seconds(1), spread: .seconds(Int64.max)) }
  }

  @Test("intervals and windows are longer by two hundredths, or by the spread")
  func guarded() throws {
    #expect(try Rate("10/s").keptNanoseconds == 102_000_000)
    #expect(try Rate.spaced(10, per: .seconds(1), spread: .milliseconds(5)).keptNanoseconds == 105_000_000)
    #expect(try Rate("100/min").keptNanoseconds == 61_200_000_000)
    #expect(try Rate.rolling(1, per: .seconds(1), spread: .milliseconds(300)).keptNanoseconds == 1_300_000_000)
  }

  @Test("a period that is not a unit is shown in seconds")
  func shown() throws { #expect(try Rate.rolling(3, per: .milliseconds(2500)).description == "3/2.5 s") }
}
