import HTTPTypes
import HeadgateDispatch

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// User names and passwords for hosts, in the format of a `.netrc` file: `machine`, `login`, `password`, `account`,
/// `default` and `macdef`, separated by white space.
///
/// Words may be in double quotes, with the escapes \n, \r, \t, \" and \\. A line that begins with # is a comment. A #
/// in place of a keyword begins a comment too, which ends with the line. The first entry for a host applies. `default`
/// applies to all hosts that no entry before it names.
struct Netrc: Equatable, Sendable {
  private struct Entry: Equatable {
    /// Nil: any host.
    var machine: String?
    var login: String?
    var password: String?
  }

  private var entries: [Entry] = []

  /// Reads the text of a file.
  ///
  /// - Throws: An error with the line's number and the reason, never with its text. Unknown words are skipped.
  init(_ bytes: [UInt8]) throws(OptionError) {
    var words = NetrcWords(bytes)
    while let word = try words.keyword() {
      switch word {
      case "machine": entries.append(Entry(machine: Netrc.canonical(try words.value(of: word))))
      case "default": entries.append(Entry())
      case "login": set(\.login, try words.value(of: word))
      case "password": set(\.password, try words.value(of: word))
      case "account": _ = try words.value(of: word)
      case "macdef": words.skipMacro()
      default: break
      }
    }
  }

  // Ignores a login or password before the first machine.
  private mutating func set(_ member: WritableKeyPath<Entry, String?>, _ value: String) {
    guard let last = entries.indices.last else { return }
    entries[last][keyPath: member] = value
  }

  /// The value of the `Authorization` field for a host, in the Basic scheme. Nil if no entry applies.
  ///
  /// - Parameters:
  ///   - host: The host of an `EndPoint`.
  ///   - isNamed: Whether only an entry applies that names the host.
  func authorization(for host: String, isNamed: Bool = false) -> String? {
    guard let entry = entries.first(where: { $0.machine?.utf8.elementsEqual(host.utf8) ?? true }) else { return nil }
    guard entry.machine != nil || !isNamed else { return nil }
    guard entry.login != nil || entry.password != nil else { return nil }
    return "Basic " + Data("\(entry.login ?? ""):\(entry.password ?? "")".utf8).base64EncodedString()
  }

  // The host in the canonical form of end-points. A word that is not a host is kept as it is and matches nothing. The
  // same applies to a name that is not ASCII, since names whose letters look alike are different hosts.
  private static func canonical(_ machine: String) -> String {
    guard machine.utf8.allSatisfy({ $0 < 0x80 }) else { return machine }
    return (try? EndPoint(host: machine, port: 443))?.host ?? machine
  }
}

/// Gives the hosts that redirects lead to their own passwords, if the file names them. What a request has for its own
/// host is never passed on.
///
/// Only over TLS, or within this machine: anyone between here and a server without TLS could redirect to any host that the
/// file may name, and read its password.
struct RedirectPasswords: RequestInterceptor {
  let passwords: Netrc
  /// Whether the options have the field for an end-point.
  let isGiven: @Sendable (EndPoint) -> Bool

  func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
    guard request.headerFields[.authorization] == nil else { return }
    request.headerFields[.authorization] = authorization(for: request)
  }

  /// The field for a request. Nil if it must not have one.
  func authorization(for request: DispatchRequest) -> String? {
    let endPoint = request.endPoint
    guard request.isSecure || endPoint.isLoopback, !endPoint.isUnixSocket, !isGiven(endPoint) else { return nil }
    return passwords.authorization(for: endPoint.host, isNamed: true)
  }
}

/// The words of a `.netrc` file, one after another.
private struct NetrcWords {
  private var rest: ArraySlice<UInt8>
  private var line = 1
  private var isAtLineStart = true

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  /// The next word in a keyword's position, where # begins a comment. Nil at the end.
  mutating func keyword() throws(OptionError) -> String? {
    skipSpace()
    while rest.first == UInt8(ascii: "#") {
      skipLine()
      skipSpace()
    }
    return try next()
  }

  /// The next word without its quotes. Nil at the end.
  mutating func next() throws(OptionError) -> String? {
    skipSpace()
    guard let first = rest.first else { return nil }
    isAtLineStart = false
    if first == UInt8(ascii: "\"") { return try quoted() }
    let word = rest.prefix { !Self.isSpace($0) }
    rest = rest.dropFirst(word.count)
    return String(decoding: word, as: UTF8.self)
  }

  /// The value that must follow a keyword.
  mutating func value(of word: String) throws(OptionError) -> String {
    let line = line
    guard let value = try next() else { throw OptionError("line \(line): nothing follows the word \(word)") }
    return value
  }

  /// Skips a macro, which ends at the first blank line.
  mutating func skipMacro() {
    var isBlank = false
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\n") else {
        if byte != UInt8(ascii: "\r") { isBlank = false }
        continue
      }
      line += 1
      isAtLineStart = true
      if isBlank { return }
      isBlank = true
    }
  }

  private mutating func skipSpace() {
    while let byte = rest.first {
      if isAtLineStart, byte == UInt8(ascii: "#") {
        skipLine()
      } else if Self.isSpace(byte) {
        if byte == UInt8(ascii: "\n") { (line, isAtLineStart) = (line + 1, true) }
        rest.removeFirst()
      } else {
        return
      }
    }
  }

  private mutating func skipLine() { rest = rest.drop { $0 != UInt8(ascii: "\n") } }

  private mutating func quoted() throws(OptionError) -> String {
    rest.removeFirst()
    var word: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\n") {
      if byte == UInt8(ascii: "\"") { return String(decoding: word, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
        word.append(byte)
        continue
      }
      switch escaped {
      case UInt8(ascii: "n"): word.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "r"): word.append(UInt8(ascii: "\r"))
      case UInt8(ascii: "t"): word.append(UInt8(ascii: "\t"))
      default:
        if escaped == UInt8(ascii: "\n") { line += 1 }
        word.append(escaped)
      }
    }
    throw OptionError("line \(line): a closing quotation mark is missing")
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (9...13).contains(byte) }
}
