import HeadgateDispatch
import HeadgateReport

/// The path of a row's file below the folder of `--files-from`: `scans/{id}.pdf`.
struct FileTemplate: Hashable, Sendable {
  private let template: Template

  init(_ text: String) throws(OptionError) {
    template = try Template(text)
    let isBelow = template.isVariable ? text.utf8.first != UInt8(ascii: "/") : FileFolder.components(of: text) != nil
    guard isBelow else {
      throw OptionError("files are below the folder of --files-from; write their paths from there, without ..")
    }
  }

  /// The path with the values of a row. No file is opened.
  func path(_ row: JSONValue) throws(RowProblem) -> String {
    let path = try template.text(row)
    guard FileFolder.components(of: path) != nil else {
      throw .invalid(
        "its file \"\(ShownText.of(path, atMost: 200))\" is not a path below the folder of --files-from, without ..")
    }
    return path
  }
}

/// A part of a form, as for curl's option: `name=text` or `name=@path`, and perhaps `;type=TYPE` and `;filename=NAME`
/// after it.
struct FormPartTemplate: Hashable, Sendable {
  private enum Content: Hashable, Sendable {
    case text(Template)
    case file(FileTemplate)
  }

  private let name: String
  private let content: Content
  private var type: Template?
  private var fileName: Template?

  init(_ text: String) throws(OptionError) {
    guard let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")), sign != text.startIndex else {
      throw OptionError("write name=text with {field}, or name=@path of a file below the folder of --files-from")
    }
    name = String(text[..<sign])
    var rest = text[text.utf8.index(after: sign)...]
    while let (start, mark, end) = Self.last(in: rest) {
      let value = try Template(String(rest[end...]))
      if mark == ";type=" { type = type ?? value } else { fileName = fileName ?? value }
      rest = rest[..<start]
    }
    if rest.utf8.first == UInt8(ascii: "@") {
      content = .file(try FileTemplate(String(rest.dropFirst())))
    } else {
      content = .text(try Template(String(rest)))
    }
  }

  /// The last of the marks in a text.
  private static func last(in text: Substring) -> (start: String.Index, mark: String, end: String.Index)? {
    let found = [";type=", ";filename="].compactMap { mark in
      text.ranges(of: mark).last.map { (start: $0.lowerBound, mark: mark, end: $0.upperBound) }
    }
    return found.max { $0.start < $1.start }
  }

  var isFile: Bool { if case .file = content { true } else { false } }

  /// The path of its file. Nil without one.
  func path(_ row: JSONValue) throws(RowProblem) -> String? {
    if case .file(let file) = content { try file.path(row) } else { nil }
  }

  /// The part with the values of a row.
  func part(_ row: JSONValue, _ folder: FileFolder?) throws(RowProblem) -> BodyPart {
    let (type, fileName) = (try type?.text(row), try fileName?.text(row))
    switch content {
    case .file(let file):
      let path = try file.path(row)
      guard let folder else { throw .invalid(Self.noFolder) }
      return BodyPart(
        name, file: path, below: folder, fileName: fileName, contentType: type ?? "application/octet-stream")
    case .text(let text):
      return BodyPart(name, bytes: Array(try text.text(row).utf8), fileName: fileName, contentType: type)
    }
  }

  static let noFolder = "it has a file, but --files-from is missing"
}
