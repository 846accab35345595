import HTTPTypes
import HeadgateDispatch

extension OptionValue {
  /// `Name: value` or `@FILE`, or `HOST=` before one of them.
  static func headerSource(_ text: String) throws(OptionError) -> HeaderSource {
    // The name of a file may contain any character.
    guard text.utf8.first != UInt8(ascii: "@"), let (host, rest) = parts(text) else { return try source(text) }
    if let pattern = try? HostPattern(host) { return .only(pattern, try source(rest)) }
    // A field that was meant for one host must not become one for all hosts: `api.example.com:x=Name: value`.
    let name = host.utf8.prefix { $0 != UInt8(ascii: ":") }
    let isMeant = name.count == host.utf8.count || name.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "[") }
    guard !isMeant else {
      throw OptionError("the text before the = names no hosts: write host, *.domain or *, optionally with :port")
    }
    return try source(text)
  }

  /// `Name=VARIABLE`, or `HOST=` before it.
  static func headerVariable(_ text: String) throws(OptionError) -> HeaderSource {
    var parts = text.split(separator: "=", maxSplits: 2, omittingEmptySubsequences: false)
    let host = parts.count == 3 ? parts.removeFirst() : nil
    guard parts.count == 2, !parts[1].isEmpty, let name = HTTPField.Name(String(parts[0])) else {
      throw OptionError(
        "write it as Name=VARIABLE, such as Authorization=API_AUTHORIZATION, optionally after HOST=")
    }
    let source = HeaderSource.variable(name, String(parts[1]))
    guard let host else { return source }
    do throws(LimitError) {
      return .only(try HostPattern(String(host)), source)
    } catch {
      throw OptionError("\(error)")
    }
  }

  private static func source(_ text: String) throws(OptionError) -> HeaderSource {
    guard text.utf8.first == UInt8(ascii: "@") else { return .field(try header(text)) }
    guard text.utf8.count > 1 else { throw OptionError("write the file name directly after the @") }
    return .file(String(text.dropFirst()))
  }

  /// The texts before and after the first `=`, if a field or a file follows it. The value of a field may contain the sign
  /// too, as in `Cookie: a=b`.
  private static func parts(_ text: String) -> (host: String, rest: String)? {
    guard let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let rest = text[text.utf8.index(after: sign)...]
    let name = rest.utf8.firstIndex(of: UInt8(ascii: ":")).map { String(rest[..<$0]) }
    guard rest.utf8.first == UInt8(ascii: "@") || name.flatMap({ HTTPField.Name($0) }) != nil else { return nil }
    return (String(text[..<sign]), String(rest))
  }
}
