#if Redis
/// A reply in version 2 of Redis's protocol, which Redis, Valkey and similar servers all speak.
enum RESPValue: Hashable, Sendable {
  case simple(String)
  case error(String)
  case integer(Int64)
  case bulk([UInt8])
  case array([RESPValue])
  /// A bulk string or an array that is absent.
  case null

  /// The text of a simple or bulk string. Nil for others.
  var text: String? {
    switch self {
    case .simple(let text): text
    case .bulk(let bytes): String(decoding: bytes, as: UTF8.self)
    default: nil
    }
  }

  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

  var array: [RESPValue]? { if case .array(let elements) = self { elements } else { nil } }
}

/// A command: its name and its arguments, as an array of bulk strings.
enum RESPCommand {
  static func encode(_ words: [String]) -> [UInt8] {
    var bytes = Array("*\(words.count)\r\n".utf8)
    for word in words {
      bytes += "$\(word.utf8.count)\r\n".utf8
      bytes += word.utf8
      bytes += "\r\n".utf8
    }
    return bytes
  }
}
#endif
