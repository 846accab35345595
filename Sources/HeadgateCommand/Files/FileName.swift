// Makes file names from URLs of untrusted origin. A name never leaves its folder, contains no terminal control characters,
// and leaves room for suffixes. Directly in the output folder only `.well-known` is hidden; below folders that `-o` names,
// any name may be, because mirrors need names such as `os/.treeinfo`.

/// Derives the name of a file from its URL.
enum FileName {
  /// File systems allow 255 bytes. The rest is for a number and `.part`.
  static let longest = 240

  /// The last component of the URL's path, percent-decoded and made harmless, or `index.html` if there is none. The
  /// query follows as it is written, as with wget, since it may be the only difference between two URLs.
  ///
  /// A name that is too long is shortened before its extension, and one with a query at its end.
  static func of(_ url: String) -> String {
    name(file(of: url), query: query(of: url))
  }

  private static func name(_ file: String, query: String?) -> String {
    guard let query, file.utf8.count + 1 < longest else { return notPart(file) }
    return notPart(start(of: file + "?" + withoutHarm(query), atMost: longest))
  }

  /// The path of a file from a list, below the folder, with each component made harmless. Nil if a component is empty,
  /// `.` or `..`, or if the path is longer than systems allow or has too many folders.
  static func given(_ path: String) -> String? {
    guard path.utf8.count <= longestFolders else { return nil }
    var names: [String] = []
    for bytes in path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      let name = String(decoding: bytes, as: UTF8.self)
      guard name != ".", name != "..", case let safe = harmless(name), !safe.isEmpty else { return nil }
      names.append(notPart(safe))
    }
    guard names.count <= mostFolders + 1 else { return nil }
    return names.joined(separator: "/")
  }

  /// The parts of the URL's path, percent-decoded.
  static func pathComponents(of url: String) -> [String] {
    withoutScheme(url).split(separator: UInt8(ascii: "/")).dropFirst().map {
      String(decoding: percentDecoded($0), as: UTF8.self)
    }
  }

  /// Text that is not UTF-8 after decoding stays percent-encoded.
  static func decoded(_ encoded: Substring.UTF8View) -> String {
    String(validating: percentDecoded(encoded), as: UTF8.self) ?? String(decoding: encoded, as: UTF8.self)
  }

  fileprivate static func query(of url: String) -> String? {
    let rest = url.utf8.prefix { $0 != UInt8(ascii: "#") }
    guard let mark = rest.firstIndex(of: UInt8(ascii: "?")) else { return nil }
    let query = rest[rest.index(after: mark)...]
    return query.isEmpty ? nil : String(decoding: query, as: UTF8.self)
  }

  /// The name without its query.
  private static func file(of url: String) -> String {
    let safe = harmless(decoded(lastComponent(of: url)))
    return safe.isEmpty ? "index.html" : safe
  }

  /// A name, its stem and its extension without the full stop. The stem includes the query, so that it distinguishes
  /// files too.
  struct Parts: Hashable, Sendable {
    let name: String
    let stem: String
    let ext: String
    // Its first character stands for a full stop.
    private var isHidden = false

    /// The parts of a name that is not made from a URL.
    init(_ name: String) { self.init(name, file: name) }

    /// The parts of a name in a response, without folders.
    init(given name: String) {
      self.init(FileName.notPart(FileName.harmless(name)))
      isHidden = name.utf8.first == UInt8(ascii: ".")
    }

    /// The parts of the name made from a URL.
    init(ofURL url: String) {
      let (file, query) = (FileName.file(of: url), FileName.query(of: url))
      let name = FileName.name(file, query: query)
      self.init(name, file: query == nil || !name.utf8.starts(with: file.utf8) ? name : file)
      isHidden = FileName.decoded(FileName.lastComponent(of: url)).utf8.first == UInt8(ascii: ".")
    }

    /// A name or stem as it is below a folder.
    func below(_ text: String) -> String {
      guard isHidden, text.utf8.first == UInt8(ascii: "_") else { return text }
      let hidden = "." + String(text.unicodeScalars.dropFirst())
      return hidden == "." || hidden == ".." ? text : hidden
    }

    private init(_ name: String, file: String) {
      self.name = name
      let ext = FileName.pathExtension(of: file)
      // By bytes: the first character of the extension or of the query may be a part of the one before it.
      let stem = file.utf8.dropLast(ext.utf8.count) + name.utf8.dropFirst(file.utf8.count)
      self.stem = String(decoding: stem, as: UTF8.self)
      self.ext = String(ext.dropFirst())
    }
  }

  /// The folders of a URL's path, decoded and made harmless, as many as fit in a path. They may be hidden. Directly in the
  /// output folder, which may be a user's home, only `.well-known` is.
  ///
  /// - Parameter isTop: Whether the first one is directly in the output folder.
  static func folders(of url: String, isTop: Bool) -> [String] {
    let rest = withoutScheme(url)
    var (folders, length): ([String], Int) = ([], 0)
    for encoded in rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst().dropLast() {
      let text = decoded(encoded)
      let folder = isTop && folders.isEmpty && text != ".well-known" ? harmless(text) : visible(text)
      length += folder.utf8.count + 1
      guard length <= longestFolders, folders.count < mostFolders else { break }
      if !folder.isEmpty { folders.append(folder) }
    }
    return folders
  }

  /// Systems allow paths of about 4,000 bytes. The rest is for the output folder and the text of a template.
  private static let longestFolders = 2_000

  /// A line of a list must not make a thousand folders.
  private static let mostFolders = 64

  /// A name in a folder.
  static func path(_ name: String, in folder: String) -> String {
    folder == "." ? name : folder + (folder.hasSuffix("/") ? "" : "/") + name
  }

  // Works on bytes, as file systems and URL parsers do. As a Character, a full stop after U+0600 or a slash before a
  // combining mark would not be found.

  /// The authority and the path of a URL.
  private static func withoutScheme(_ url: String) -> Substring.UTF8View {
    let rest = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    guard let colon = rest.firstIndex(of: UInt8(ascii: ":")), case let end = rest[colon...].dropFirst(),
      end.starts(with: "//".utf8)
    else { return rest }
    return end.dropFirst(2)
  }

  private static func lastComponent(of url: String) -> Substring.UTF8View {
    let rest = withoutScheme(url)
    guard let slash = rest.lastIndex(of: UInt8(ascii: "/")) else { return rest[rest.endIndex...] }
    return rest[rest.index(after: slash)...]
  }

  static func percentDecoded(_ encoded: Substring.UTF8View) -> [UInt8] {
    guard encoded.contains(UInt8(ascii: "%")) else { return Array(encoded) }
    var bytes: [UInt8] = []
    var rest = encoded
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2)
      if byte == UInt8(ascii: "%"), digits.count == 2, let high = hex(digits.first), let low = hex(digits.last) {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }

  private static func hex(_ byte: UInt8?) -> UInt8? {
    switch byte {
    case let byte? where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte): byte - UInt8(ascii: "0")
    case let byte? where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20):
      (byte | 0x20) - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  static func harmless(_ name: String) -> String {
    let safe = shortened(withoutHarm(name))
    // Hidden files, `.` and `..`, which shortening can also make.
    return safe.utf8.first == UInt8(ascii: ".") ? "_" + String(safe.unicodeScalars.dropFirst()) : safe
  }

  /// The same, except that it may be hidden.
  static func visible(_ name: String) -> String {
    let safe = shortened(withoutHarm(name))
    return safe == "." || safe == ".." ? harmless(safe) : safe
  }

  /// A name that is too long is shortened before its extension.
  static func shortened(_ name: String) -> String {
    guard name.utf8.count > longest else { return name }
    let extent = pathExtension(of: name)
    return start(of: name, atMost: longest - extent.utf8.count) + extent
  }

  private static func withoutHarm(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isHarmful) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { isHarmful($0) ? "_" : $0 }))
  }

  /// `.part` is the suffix of incomplete files, and a complete file must not collide with one. The case is ignored, as
  /// some file systems do.
  static func notPart(_ name: String) -> String {
    let end = name.utf8.suffix(5).map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    return end == Array(".part".utf8) ? name + "_" : name
  }

  /// The extension: everything from the last full stop on, if 1 to 16 ASCII letters or digits follow, else nothing.
  static func pathExtension(of name: String) -> String {
    let tail = name.utf8.suffix(17)
    guard let dot = tail.lastIndex(of: UInt8(ascii: ".")), tail.index(after: dot) != tail.endIndex else { return "" }
    let isPlain = tail[tail.index(after: dot)...].allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }
    return isPlain ? String(decoding: tail[dot...], as: UTF8.self) : ""
  }

  /// As many whole characters as fit, but at least a part of the first one, which may have any number of marks. They are
  /// counted from the front, which takes one pass over the text. From the back, finding the start of each character may
  /// take a pass of its own.
  static func start(of name: String, atMost most: Int) -> String {
    var start = ""
    for character in name {
      guard start.utf8.count + character.utf8.count <= most else { break }
      start.append(character)
    }
    return start.isEmpty ? scalars(of: name, atMost: most) : start
  }

  private static func scalars(of name: String, atMost most: Int) -> String {
    var (start, count) = ("", 0)
    for scalar in name.unicodeScalars {
      count += UTF8.width(scalar)
      guard count <= most else { break }
      start.unicodeScalars.append(scalar)
    }
    return start
  }

  private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
    // The properties of a scalar are looked up in tables.
    if scalar.isASCII { return scalar == "/" || scalar.value < 0x20 || scalar.value == 0x7F }
    // Bidirectional controls can make one name look like another.
    if scalar.properties.isBidiControl { return true }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }
}
