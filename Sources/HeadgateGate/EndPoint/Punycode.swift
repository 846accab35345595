// Punycode: encodes a label of an international name in ASCII for DNS. RFC 3492, sections 3 and 6.

enum Punycode {
  private static let base = 36
  private static let least = 1
  private static let most = 26
  private static let skew = 38
  private static let damp = 700

  /// The text after `xn--` for a label. O(n²) in its length, which is at most 63.
  static func encode(_ label: some Sequence<Unicode.Scalar>) -> String {
    let scalars = label.map { Int($0.value) }
    var output = scalars.filter { $0 < 0x80 }.map { UInt8($0) }
    let basic = output.count
    var handled = basic
    if basic > 0 { output.append(UInt8(ascii: "-")) }
    var (next, delta, bias) = (0x80, 0, 72)
    while handled < scalars.count {
      guard let least = scalars.filter({ $0 >= next }).min() else { break }
      delta += (least - next) * (handled + 1)
      next = least
      for scalar in scalars {
        if scalar < next { delta += 1 }
        guard scalar == next else { continue }
        appendDelta(delta, bias, to: &output)
        bias = adapted(delta, count: handled + 1, isFirst: handled == basic)
        delta = 0
        handled += 1
      }
      delta += 1
      next += 1
    }
    return String(decoding: output, as: UTF8.self)
  }

  // Writes a number in digits of a variable base, lowest first.
  private static func appendDelta(_ delta: Int, _ bias: Int, to output: inout [UInt8]) {
    var (rest, place) = (delta, base)
    while true {
      let threshold = min(max(place - bias, least), most)
      guard rest >= threshold else { break }
      output.append(digit(threshold + (rest - threshold) % (base - threshold)))
      rest = (rest - threshold) / (base - threshold)
      place += base
    }
    output.append(digit(rest))
  }

  private static func adapted(_ delta: Int, count: Int, isFirst: Bool) -> Int {
    var delta = isFirst ? delta / damp : delta / 2
    delta += delta / count
    var place = 0
    while delta > (base - least) * most / 2 {
      delta /= base - least
      place += base
    }
    return place + (base - least + 1) * delta / (delta + skew)
  }

  private static func digit(_ value: Int) -> UInt8 {
    UInt8(value < 26 ? Int(UInt8(ascii: "a")) + value : Int(UInt8(ascii: "0")) + value - 26)
  }
}
