import HeadgateSharing
import HeadgateThreads

/// The numbers of a permit server in the text format of OpenMetrics.
enum MetricsText {
  static let type = "application/openmetrics-text; version=1.0.0; charset=utf-8"

  /// The most values of the label `end_point`, besides `other`. A server of metrics keeps all values that it ever saw.
  static let mostEndPoints = 100

  /// The text. The end-points and scopes with the most waiting and running requests have a line of their own, the rest
  /// count together as `other`.
  ///
  /// - Parameter state: The state. Nil if no server runs.
  static func of(_ state: PermitState?) -> String {
    let state = state ?? PermitState()
    let named = state.places.prefix(mostEndPoints)
    let others = state.places.dropFirst(mostEndPoints)
    var running = named.map { ($0.name, Double($0.running)) }
    var waiting = named.map { ($0.name, Double($0.waiting)) }
    if !others.isEmpty {
      running.append(("other", others.reduce(0) { $0 + Double($1.running) }))
      waiting.append(("other", others.reduce(0) { $0 + Double($1.waiting) }))
    }
    let limits = named.compactMap { place in place.limit.map { (place.name, Double($0)) } }
    let oldest = named.compactMap { place in place.oldest.map { (place.name, $0.inSeconds) } }
    let families = [
      gauge("headgate_programs", "The programs that are connected to the server.", [("", Double(state.programs))]),
      gauge("headgate_permits_held", "The permits that are held.", merged(running)),
      gauge("headgate_permits_waiting", "The requests that wait for a permit.", merged(waiting)),
      gauge("headgate_permits_limit", "The permits that may be held at a time.", merged(limits)),
      gauge("headgate_oldest_wait_seconds", "How long the oldest request has waited.", merged(oldest)),
    ]
    return families.joined() + "# EOF\n"
  }

  /// Adds up what has one label: a resource may be called `other`.
  private static func merged(_ samples: [(String, Double)]) -> [(String, Double)] {
    Dictionary(samples, uniquingKeysWith: +).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private static func gauge(_ name: String, _ help: String, _ samples: [(label: String, value: Double)]) -> String {
    let unit = name.hasSuffix("_seconds") ? "# UNIT \(name) seconds\n" : ""
    let lines = samples.map { sample in
      let label = sample.label.isEmpty ? "" : "{end_point=\"\(escaped(sample.label))\"}"
      return "\(name)\(label) \(number(sample.value))\n"
    }
    return "# TYPE \(name) gauge\n\(unit)# HELP \(name) \(help)\n" + lines.joined()
  }

  private static func number(_ value: Double) -> String {
    Int(exactly: value).map { "\($0)" } ?? Amount.fixed(value, 3)
  }

  /// By scalars: a character may consist of a quotation mark and an accent, or of a carriage return and a line feed.
  private static func escaped(_ label: String) -> String {
    var text = String.UnicodeScalarView()
    for scalar in label.unicodeScalars {
      switch scalar {
      case "\\", "\"": text.append(contentsOf: ["\\", scalar])
      case "\n": text.append(contentsOf: ["\\", "n"])
      default: text.append(scalar)
      }
    }
    return String(text)
  }
}
