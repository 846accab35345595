import ArgumentParser
import HTTPTypes

/// Options for the request of each row.
struct RequestOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The URL of every row's request; {field} inserts a field of the row. Without it rows describe their own "
        + "requests: url, and optionally method, headers and body.",
      valueName: "url"
    ),
    transform: { try URLTemplateText($0) }
  )
  var url: URLTemplateText?

  @Option(
    name: [.customShort("X", allowingJoined: true), .customLong("method"), .customLong("request")],
    help: ArgumentHelp("The method. (default: POST with a body, GET without)", valueName: "method"),
    transform: OptionValue.method
  )
  var method: HTTPRequest.Method?

  @Option(
    help: ArgumentHelp(
      "A JSON body; {field} inserts a field as a JSON value, or within a string as text. @FILE reads it "
        + "from a file. Several are appended to each other.",
      valueName: "json|@file"
    )
  )
  var json: [String] = []

  @Option(
    name: [.customShort("d", allowingJoined: true), .long],
    help: ArgumentHelp(
      "A text body; {field} inserts text, {field:url} percent-encoded text. @FILE reads it from a "
        + "file without its line ends. Sent as a form, unless -H 'Content-Type: TYPE' is given. Several are joined by "
        + "&.",
      valueName: "text|@file"
    )
  )
  var data: [String] = []

  @Option(
    name: .customLong("response-fields"),
    help: ArgumentHelp("Response header fields to include in results, separated by commas.", valueName: "names"),
    transform: OptionValue.fieldNames
  )
  var responseFields: [HTTPField.Name] = []

  @Option(
    help: ArgumentHelp(
      "The maximum size of a response body in bytes; K, M and G mean 1024, 1024^2 and 1024^3. A larger one is an "
        + "error. (default: 64M)",
      valueName: "size"
    ),
    transform: OptionValue.size
  )
  var maxFilesize: Int?

  func validate() throws {
    guard json.isEmpty || data.isEmpty else {
      throw ValidationError("--json and --data can't be combined; give one of them.")
    }
  }

  private static func joined(_ texts: [String], by separator: String) -> String? {
    texts.isEmpty ? nil : texts.joined(separator: separator)
  }

  /// The template defined by these options, and all of its parts as one text.
  func template(_ key: String?) throws -> (CallTemplate, text: String) {
    var template = CallTemplate()
    (template.url, template.method) = (url?.template, method)
    let json = try Self.joined(json.map { try FileArgument.text($0, of: "--json") }, by: "")
    let data = try Self.joined(data.map { try FileArgument.text($0, of: "--data", isForm: true) }, by: "&")
    do throws(OptionError) {
      template.body =
        if let json { .json(try JSONTemplate(json)) } else if let data { .text(try Template(data)) } else { nil }
    } catch {
      throw FetchProblem("\(json == nil ? "--data" : "--json"): \(error)", status: .usage)
    }
    template.key = try key.map { try OnceOptions.keySource($0) }
    let parts = ["url", url?.text, "method", method?.rawValue, "json", json, "data", data, "key", key]
    // Separated by a character that none of them contains, with different marks for a missing and an empty part.
    return (template, parts.map { $0.map { "=" + $0 } ?? "-" }.joined(separator: "\u{0}"))
  }
}

/// A URL with fields, and its original text.
struct URLTemplateText: Hashable, Sendable {
  let text: String
  let template: URLTemplate

  init(_ text: String) throws(OptionError) {
    (self.text, template) = (text, try URLTemplate(text))
  }
}

extension OptionValue {
  /// The name of a method.
  static func method(_ text: String) throws(OptionError) -> HTTPRequest.Method {
    guard let method = HTTPRequest.Method(text) else { throw OptionError("write a method, such as POST") }
    guard method != .connect else { throw OptionError("CONNECT opens tunnels, which proxies are for: see --proxy") }
    return method
  }

  /// `ETag,X-Request-Id`.
  static func fieldNames(_ text: String) throws(OptionError) -> [HTTPField.Name] {
    var names: [HTTPField.Name] = []
    for part in text.split(separator: ",") {
      var part = part.drop { $0 == " " }
      while part.last == " " { part.removeLast() }
      guard let name = HTTPField.Name(String(part)) else {
        throw OptionError("write names of header fields separated by commas, such as ETag,X-Request-Id")
      }
      if !names.contains(name) { names.append(name) }
    }
    return names
  }
}
