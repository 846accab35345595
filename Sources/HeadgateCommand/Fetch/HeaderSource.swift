import HTTPTypes

/// Where header fields come from: the command line itself, which all who may list processes can read, or a place that
/// secrets are safer in.
enum HeaderSource: Hashable, Sendable {
  /// The field itself.
  case field(HTTPField)
  /// A file with one field a line.
  case file(String)
  /// The field's value is that of an environment variable.
  case variable(HTTPField.Name, String)

  /// Whether it has to be read when the run begins.
  var isElsewhere: Bool {
    if case .field = self { false } else { true }
  }

  /// The fields. Reads the file or the environment.
  ///
  /// - Throws: ``FetchProblem``, which never shows a value.
  func fields(_ environment: (String) -> String? = Environment.value(of:)) throws(FetchProblem) -> [HTTPField] {
    switch self {
    case .field(let field): return [field]
    case .file(let path):
      let bytes: [UInt8]
      do throws(SystemError) {
        bytes = try Descriptor.readFile(path)
      } catch {
        throw FetchProblem("-H: the file \(path) can't be read: \(error)")
      }
      do throws(OptionError) {
        return try HeaderSource.fields(inFile: bytes)
      } catch {
        throw FetchProblem("-H: the file \(path), \(error)", status: .usage)
      }
    case .variable(let name, let variable):
      guard let value = environment(variable) else {
        throw FetchProblem("--header-env: the environment has no variable \(variable)", status: .usage)
      }
      do throws(OptionError) {
        return [try OptionValue.field(name, value)]
      } catch {
        throw FetchProblem("--header-env: the variable \(variable): \(error)", status: .usage)
      }
    }
  }

  /// The fields of a file, one a line. Blank lines and those that begin with # are passed over.
  ///
  /// - Throws: The first line that is no field, by its number and without its text.
  static func fields(inFile bytes: [UInt8]) throws(OptionError) -> [HTTPField] {
    var fields: [HTTPField] = []
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
      let end = line.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? line.startIndex
      let text = line[..<end].drop(while: isSpace)
      guard let first = text.first, first != UInt8(ascii: "#") else { continue }
      guard let text = String(validating: text, as: UTF8.self) else {
        throw OptionError("line \(index + 1): it is not UTF-8")
      }
      do throws(OptionError) {
        fields.append(try OptionValue.header(text))
      } catch {
        throw OptionError("line \(index + 1): \(error)")
      }
    }
    return fields
  }
}
