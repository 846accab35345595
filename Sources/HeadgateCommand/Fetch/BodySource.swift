import HeadgateReport

/// A body as given on the command line: texts, some of which name files.
struct BodySource: Hashable, Sendable {
  /// How the texts are read and joined.
  enum Form: String, Sendable {
    case form = "--data"
    case raw = "--data-raw"
    case binary = "--data-binary"
    case json = "--json"
  }

  let form: Form
  let texts: [String]

  /// The files that texts name.
  var files: [String] {
    form == .raw ? [] : texts.filter { $0.hasPrefix("@") && $0 != "@-" }.map { String($0.dropFirst()) }
  }

  /// The body. Reads the files.
  ///
  /// - Parameter standardInput: The source of `@-`.
  func read(_ standardInput: Int32) throws(FetchProblem) -> SentBody {
    var parts: [[UInt8]] = []
    for text in texts { parts.append(try read(text, standardInput)) }
    guard form == .json else {
      return SentBody(Array(parts.joined(separator: [UInt8(ascii: "&")])), type: SentBody.formType)
    }
    let bytes = Array(parts.joined())
    do throws(JSONError) { _ = try JSONReader.read(bytes) } catch {
      throw FetchProblem(
        "--json: not valid JSON: \(error); --data-binary with -H 'Content-Type: application/json' sends it unchanged",
        status: .usage)
    }
    return SentBody(bytes, type: SentBody.jsonType)
  }

  private func read(_ text: String, _ standardInput: Int32) throws(FetchProblem) -> [UInt8] {
    if form == .raw { return Array(text.utf8) }
    return try FileArgument.bytes(
      text, of: form.rawValue, isForm: form == .form, standardInput: standardInput)
  }
}
