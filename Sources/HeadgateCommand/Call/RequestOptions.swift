import ArgumentParser
import HTTPTypes
import HeadgateDispatch

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
    name: [.customShort("T", allowingJoined: true), .customLong("upload-file")],
    help: ArgumentHelp(
      "Send a file as the body, by PUT unless -X is given; {field} inserts text into its path, which is below the folder "
        + "of --files-from.",
      valueName: "path"
    ),
    transform: { (text: $0, template: try FileTemplate($0)) }
  )
  var upload: (text: String, template: FileTemplate)?

  @Option(
    name: [.customShort("F", allowingJoined: true), .long],
    help: ArgumentHelp(
      "A part of a form (multipart/form-data): name=text, or name=@path for a file below the folder of --files-from; "
        + "{field} inserts text. ;type=TYPE and ;filename=NAME after it describe the part. Repeatable.",
      valueName: "name=text|name=@path"
    ),
    transform: { (text: $0, template: try FormPartTemplate($0)) }
  )
  var form: [(text: String, template: FormPartTemplate)] = []

  @Option(
    name: .customLong("files-from"),
    help: ArgumentHelp(
      "The folder of the files of -T and -F. A row can name only files of yours below it: .. is refused, and links are "
        + "not followed.",
      valueName: "dir"
    ), completion: .directory
  )
  var filesFrom: String?

  @Option(
    name: .customLong("response-fields"),
    help: ArgumentHelp("Response header fields to include in results, separated by commas.", valueName: "names"),
    transform: OptionValue.fieldNames
  )
  var responseFields: [HTTPField.Name] = []

  @Option(
    help: ArgumentHelp(
      "The maximum size of a response body in bytes; K, M and G mean 1024, 1024^2 and 1024^3. A larger one is an "
        + "error. (default: 64M; with --save, none)",
      valueName: "size"
    ),
    transform: OptionValue.size
  )
  var maxFilesize: Int?

  func validate() throws {
    let bodies = [
      ("--json", !json.isEmpty), ("--data", !data.isEmpty), ("-T", upload != nil), ("-F", !form.isEmpty),
    ].filter { $0.1 }
    guard bodies.count <= 1 else {
      throw ValidationError("\(bodies[0].0) and \(bodies[1].0) can't be combined; give one of them.")
    }
    let hasFiles = upload != nil || form.contains { $0.template.isFile }
    guard !hasFiles || filesFrom != nil else {
      throw ValidationError(
        "\(upload == nil ? "-F with @" : "-T") sends files that rows name: give --files-from DIR, the folder that they "
          + "are below.")
    }
    guard filesFrom == nil || hasFiles else {
      throw ValidationError("--files-from applies to files: give -T PATH or -F NAME=@PATH too.")
    }
  }

  private static func joined(_ texts: [String], by separator: String) -> String? {
    texts.isEmpty ? nil : texts.joined(separator: separator)
  }

  private var fileBody: BodyTemplate? {
    if let upload { return .file(upload.template) }
    return form.isEmpty ? nil : .form(form.map(\.template))
  }

  /// The template defined by these options, and all of its parts as one text.
  func template(_ key: String?, _ next: NextPage?) throws -> (CallTemplate, text: String) {
    var template = CallTemplate()
    (template.url, template.method) = (url?.template, method)
    let json = try Self.joined(json.map { try FileArgument.text($0, of: "--json") }, by: "")
    let data = try Self.joined(data.map { try FileArgument.text($0, of: "--data", isForm: true) }, by: "&")
    do throws(OptionError) {
      template.body =
        if let json { .json(try JSONTemplate(json)) } else if let data { .text(try Template(data)) } else { fileBody }
    } catch {
      throw FetchProblem("\(json == nil ? "--data" : "--json"): \(error)", status: .usage)
    }
    template.key = try key.map { try OnceOptions.keySource($0) }
    do throws(SystemError) {
      template.folder = try filesFrom.map { path throws(SystemError) in try FileFolder(path) }
    } catch {
      throw FetchProblem("the folder \(filesFrom ?? "") of --files-from can't be opened: \(error)")
    }
    var parts = ["url", url?.text, "method", method?.rawValue, "json", json, "data", data, "key", key]
    // Only where there are any, so that earlier sessions keep their text.
    if let upload { parts += ["upload", upload.text] }
    for part in form { parts += ["form", part.text] }
    if let next { parts += ["next", next.text] }
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
