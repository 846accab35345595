import HeadgateDispatch

/// The path of each URL's file below a folder: `{host}/{path}/{name}`.
///
/// No URL can lead out of the folder: no component of the result is `.` or `..`, too long for a file system, or contains a
/// control character.
struct OutputTemplate: Hashable, Sendable {
  enum Value: String, CaseIterable, Sendable {
    case host, port, path, name, stem, ext
    // With a number of digits.
    case n, line, hash

    var takesDigits: Bool { self == .n || self == .line || self == .hash }
  }

  enum Part: Hashable, Sendable {
    case text(String)
    case value(Value, digits: Int?)
  }

  /// The template as given.
  let text: String
  private let parts: [Part]

  /// Parses a template: text with values in braces. `{{` is a literal brace.
  init(_ text: String) throws(OptionError) {
    var (parts, literal, rest): ([Part], String, Substring) = ([], "", text[...])
    while let character = rest.popFirst() {
      guard character == "{" else {
        literal.append(character)
        continue
      }
      guard rest.first != "{" else {
        literal.append(rest.removeFirst())
        continue
      }
      guard let end = rest.firstIndex(of: "}") else {
        throw OptionError("a { has no closing }; {{ is a literal brace")
      }
      if !literal.isEmpty { parts.append(.text(literal)) }
      parts.append(try Self.value(rest[..<end]))
      (literal, rest) = ("", rest[rest.index(after: end)...])
    }
    if !literal.isEmpty { parts.append(.text(literal)) }
    (self.text, self.parts) = (text, parts)
    try check()
  }

  private static func value(_ word: Substring) throws(OptionError) -> Part {
    let words = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let value = words.first.flatMap({ Value(rawValue: String($0)) }) else {
      let known = Value.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
      throw OptionError("there is no {\(word)}; there are \(known), and {hash:2} for two of its digits")
    }
    guard words.count == 2 else { return .value(value, digits: nil) }
    guard value.takesDigits else {
      throw OptionError("{\(value.rawValue)} has no number of digits; leave out the colon")
    }
    let most = value == .hash ? 64 : 18
    guard let digits = Int(words[1]), (1...most).contains(digits) else {
      throw OptionError("{\(word)} needs a number of digits between 1 and \(most) after the colon")
    }
    return .value(value, digits: digits)
  }

  private func check() throws(OptionError) {
    guard text != "-" else {
      throw OptionError("bodies go to standard output without -o, -P and -O; leave it out")
    }
    try Self.checkPath(text)
  }

  /// Refuses a template of paths that are not those of files below a folder.
  static func checkPath(_ text: String) throws(OptionError) {
    let folders = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
      throw OptionError("it contains control characters")
    }
    guard folders.count == 1 || folders.first != "" else {
      throw OptionError("files go below the folder of -P or the current folder; give the folder with -P /…")
    }
    guard !folders.contains("..") else { throw OptionError("it must not contain ..; give the folder with -P") }
    guard let last = folders.last, !last.isEmpty, last != ".", last != "{path}" else {
      throw OptionError("it names a folder and no file; end it with /{name}")
    }
  }

  /// The path of a URL's file, below the folder.
  ///
  /// - Parameters:
  ///   - request: The request for the URL.
  ///   - parts: The name of the file without a template.
  ///   - number: The URL's number among all URLs, from 1.
  ///   - line: The number of its line in its list, from 1.
  func path(_ request: DispatchRequest, _ parts: FileName.Parts, number: Int, line: Int) -> String {
    var path = ""
    for part in self.parts {
      switch part {
      case .text(let text): path += text
      case .value(.ext, _) where parts.ext.isEmpty:
        // Without an extension, the full stop before it is left out.
        if path.utf8.last == UInt8(ascii: ".") { path = String(decoding: path.utf8.dropLast(), as: UTF8.self) }
      case .value(let value, let digits):
        switch value {
        case .host: path += FileName.harmless(request.endPoint.host)
        case .port: path += String(request.endPoint.port)
        case .path: path += FileName.folders(of: request.url, isTop: !Self.hasFolder(path)).joined(separator: "/")
        case .name: path += Self.hasFolder(path) ? parts.below(parts.name) : parts.name
        case .stem: path += Self.hasFolder(path) ? parts.below(parts.stem) : parts.stem
        case .ext: path += parts.ext
        case .n: path += Self.padded(number, digits)
        case .line: path += Self.padded(line, digits)
        case .hash: path += SHA256.digits(of: request.url.utf8, digits ?? 16)
        }
      }
    }
    return Self.safe(path, parts.name)
  }

  private static func padded(_ number: Int, _ digits: Int?) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, (digits ?? 0) - text.utf8.count)) + text
  }

  /// Whether the next part of a path begins a name below a folder.
  static func hasFolder(_ path: String) -> Bool {
    path.utf8.last == UInt8(ascii: "/")
      && path.utf8.split(separator: UInt8(ascii: "/")).contains { !$0.elementsEqual(".".utf8) }
  }

  /// Makes each component of a path safe. If the last one is empty, `name` replaces it.
  static func safe(_ path: String, _ name: String) -> String {
    // By bytes: a slash and a combining mark after it are one character.
    let all = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    var names = all.dropLast().filter { !$0.isEmpty && !$0.elementsEqual(".".utf8) }
      .map { component(String(decoding: $0, as: UTF8.self)) }
    let last = all.last.map { String(decoding: $0, as: UTF8.self) } ?? ""
    names.append(last.isEmpty ? name : component(last))
    return names.joined(separator: "/")
  }

  private static func component(_ text: String) -> String {
    // Shortening can leave only a full stop.
    let short = FileName.shortened(text)
    return FileName.notPart(short == "." || short == ".." ? "_" + short.dropFirst() : short)
  }
}
