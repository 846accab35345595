import HeadgateDispatch
import HeadgateReport

/// The path of each row's file below a folder: `out/{id}.pdf`. What a path can't be is the same as for
/// ``OutputTemplate``, and a value can't add a folder to it.
struct SaveTemplate: Hashable, Sendable {
  /// The template as given.
  let text: String
  private let template: Template

  init(_ text: String) throws(OptionError) {
    guard text != "-" else { throw OptionError("bodies are in the results without it; leave it out") }
    (self.text, template) = (text, try Template(text))
    try OutputTemplate.checkPath(text)
  }

  /// The path with the values of a row.
  func path(_ row: JSONValue) throws(RowProblem) -> String {
    var path = ""
    for part in template.parts {
      switch part {
      case .text(let text): path += text
      case .field(let field):
        let value = try field.text(in: row)
        // Rows that lack a name would share one file.
        guard !value.isEmpty else {
          throw .invalid("the field \(field.path) is part of the name of its file and must not be empty")
        }
        // Directly in the folder, which may be a user's home, no row makes a hidden file.
        let mayBeHidden = !path.isEmpty && (path.utf8.last != UInt8(ascii: "/") || OutputTemplate.hasFolder(path))
        path += mayBeHidden ? FileName.visible(value) : FileName.harmless(value)
      }
    }
    return OutputTemplate.safe(path, "index.html")
  }
}
