import HeadgateReport

/// The body of a response as stored in a result.
enum ResponseBody: Sendable {
  case none
  case json(JSONValue)
  /// UTF-8 text that is not JSON, or is not declared as JSON.
  case text(String)
  case bytes([UInt8])

  /// A longer body is not parsed: its values would take many times its size.
  static let longestJSON = 8 << 20

  /// - Parameters:
  ///   - bytes: The body.
  ///   - contentType: The Content-Type field.
  init(_ bytes: [UInt8], contentType: String?) {
    if bytes.isEmpty {
      self = .none
    } else if bytes.count <= Self.longestJSON, Self.isJSON(contentType), let value = try? JSONReader.read(bytes) {
      self = .json(value)
    } else if let text = String(validating: bytes, as: UTF8.self) {
      self = .text(text)
    } else {
      self = .bytes(bytes)
    }
  }

  /// The value, if it is JSON.
  var json: JSONValue? { if case .json(let value) = self { value } else { nil } }

  /// `application/json`, `application/problem+json; charset=utf-8`.
  private static func isJSON(_ contentType: String?) -> Bool {
    guard let type = contentType?.prefix(while: { $0 != ";" }) else { return false }
    let word = type.filter { $0 != " " && $0 != "\t" }.lowercased()
    return word.hasSuffix("/json") || word.hasSuffix("+json")
  }

  /// Base64 (RFC 4648, section 4), with padding.
  static func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let word = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
      for place in 0..<4 {
        let digit = alphabet[Int(word >> (18 - 6 * UInt32(place)) & 63)]
        text.append(place <= group.count ? digit : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
