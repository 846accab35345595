import Foundation
import HeadgateDispatch

/// Names and passwords for hosts, as a `.netrc` file has them: `machine`, `login`, `password`, `account`, `default` and
/// `macdef`, with white space in between.
///
/// Words may stand in double quotes, with \n, \r, \t, \" and \\ in them. Lines that begin with # are comments, and so
/// is the rest of a line from a # on that stands where a keyword is expected. The first entry for a host is the one
/// that counts; `default` is for all hosts that no entry before it names.
struct Netrc: Equatable, Sendable {
  private struct Entry: Equatable {
    /// Nil: any.
    var machine: String?
    var login: String?
    var password: String?
  }

  private var entries: [Entry] = []

  /// Reads the text of a file.
  ///
  /// - Throws: What is wrong with which line; never its text. Words that mean nothing are passed over.
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

  // What stands before the first machine is nobody's.
  private mutating func set(_ member: WritableKeyPath<Entry, String?>, _ value: String) {
    guard let last = entries.indices.last else { return }
    entries[last][keyPath: member] = value
  }

  /// The `Authorization` field's value for a host, by the Basic scheme; nil when no entry is for it.
  ///
  /// - Parameter host: The host of an `EndPoint`.
  func authorization(for host: String) -> String? {
    guard let entry = entries.first(where: { $0.machine?.utf8.elementsEqual(host.utf8) ?? true }) else { return nil }
    guard entry.login != nil || entry.password != nil else { return nil }
    return "Basic " + Data("\(entry.login ?? ""):\(entry.password ?? "")".utf8).base64EncodedString()
  }

  // In the one spelling that end-points have. What is no host is kept, and none is equal to it; so is what is not plain
  // ASCII: letters that look alike are not one host.
  private static func canonical(_ machine: String) -> String {
    guard machine.utf8.allSatisfy({ $0 < 0x80 }) else { return machine }
    return (try? EndPoint(host: machine, port: 443))?.host ?? machine
  }
}

/// The words of a `.netrc` file, one after another.
private struct NetrcWords {
  private var rest: ArraySlice<UInt8>
  private var line = 1
  private var isAtLineStart = true

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  /// The next word where one with a meaning may stand: # begins a comment there. Nil at the end.
  mutating func keyword() throws(OptionError) -> String? {
    skipSpace()
    while rest.first == UInt8(ascii: "#") {
      skipLine()
      skipSpace()
    }
    return try next()
  }

  /// The next word without its quotes; nil at the end.
  mutating func next() throws(OptionError) -> String? {
    skipSpace()
    guard let first = rest.first else { return nil }
    isAtLineStart = false
    if first == UInt8(ascii: "\"") { return try quoted() }
    let word = rest.prefix { !Self.isSpace($0) }
    rest = rest.dropFirst(word.count)
    return String(decoding: word, as: UTF8.self)
  }

  /// The word that has to follow another.
  mutating func value(of word: String) throws(OptionError) -> String {
    let line = line
    guard let value = try next() else { throw OptionError("line \(line): nothing follows the word \(word)") }
    return value
  }

  /// Passes over a macro: up to the first blank line.
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
      default: word.append(escaped)
      }
    }
    throw OptionError("line \(line): a quotation mark has no second one")
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (9...13).contains(byte) }
}
