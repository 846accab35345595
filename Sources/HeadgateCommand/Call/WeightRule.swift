import HeadgateDispatch
import HeadgateReport

/// The weights of rows, from one of their fields, and the total weight that a host accepts in a period.
struct WeightRule: Hashable, Sendable {
  let path: FieldPath
  let budget: Budget

  /// `max_tokens=90000/min`.
  init(_ text: String) throws(OptionError) {
    let usage = "write a field, = and units per period, such as max_tokens=90000/min or size=5000000/h"
    guard let sign = text.lastIndex(of: "=") else { throw OptionError(usage) }
    let parts = text[text.index(after: sign)...].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let units = Int(parts[0]), let window = Self.windows[String(parts[1])] else {
      throw OptionError(usage)
    }
    path = try FieldPath(String(text[..<sign]))
    do throws(LimitError) {
      budget = try Budget("\(path) per \(parts[1])", units: units, per: window)
    } catch {
      throw OptionError("\(error)")
    }
  }

  private static let windows: [String: Duration] = [
    "s": .seconds(1), "min": .seconds(60), "h": .seconds(3600), "d": .seconds(86_400),
  ]

  /// The weight of a row. Fractions are rounded up.
  func weight(of row: JSONValue) throws(RowProblem) -> Int {
    guard let value = path.value(in: row) else { throw .missing(path) }
    guard let units = Self.units(value) else {
      throw .invalid("the field \(path), which is its weight, is not a number of 0 or more")
    }
    return units
  }

  /// A number as units. Nil for any other value. A string of digits counts, because CSV has only strings.
  static func units(_ value: JSONValue) -> Int? {
    let text: String
    switch value {
    case .number(let source): text = source
    case .string(let digits): text = digits
    default: return nil
    }
    guard let number = Double(text), number >= 0, number <= Double(1 << 53) else { return nil }
    return Int(number.rounded(.up))
  }
}
