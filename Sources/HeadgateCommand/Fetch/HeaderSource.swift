import HTTPTypes
import HeadgateDispatch

/// Where header fields come from: the command line, which other users may see in the process list, or a safer place for
/// secrets.
enum HeaderSource: Hashable, Sendable {
  /// The field itself.
  case field(HTTPField)
  /// A file with one field a line.
  case file(String)
  /// An environment variable that holds the field's value.
  case variable(HTTPField.Name, String)
  /// One of these, for some hosts only.
  indirect case only(HostPattern, HeaderSource)

  /// The hosts that it is for. Nil for all.
  var pattern: HostPattern? {
    if case .only(let pattern, _) = self { pattern } else { nil }
  }

  /// The path of its file. Nil if it has none.
  var path: String? {
    switch self {
    case .file(let path): path
    case .only(_, let source): source.path
    case .field, .variable: nil
    }
  }

  /// Returns the fields, which it reads from the file or the environment if necessary.
  ///
  /// - Throws: ``FetchProblem``. Its text never contains a value.
  func fields(_ environment: (String) -> String? = Environment.value(of:)) throws(FetchProblem) -> [HTTPField] {
    switch self {
    case .field(let field): return [field]
    case .only(_, let source): return try source.fields(environment)
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

  /// Reads the fields of a file, one per line. Blank lines and lines that begin with # are skipped.
  ///
  /// - Throws: An error for the first line that is not a field. It contains the line's number and not its text.
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
