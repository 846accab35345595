import ArgumentParser
import HTTPTypes

/// Options for the method and the body of all requests, named as in curl.
struct SendingOptions: ParsableArguments {
  @Option(
    name: [.customShort("X", allowingJoined: true), .customLong("method"), .customLong("request")],
    help: ArgumentHelp("The method for every URL. (default: POST with a body, GET without)", valueName: "method"),
    transform: OptionValue.method
  )
  var method: HTTPRequest.Method?

  @Option(
    name: [.customShort("d", allowingJoined: true), .long],
    help: ArgumentHelp(
      "The body for every URL, sent as a form unless -H 'Content-Type: TYPE' sets another type. @FILE reads it from a file "
        + "without its line ends, and @- from standard input. Several are joined by &.",
      valueName: "text|@file"
    )
  )
  var data: [String] = []

  @Option(
    help: ArgumentHelp("The same as --data, but an @ has no meaning.", valueName: "text"))
  var dataRaw: [String] = []

  @Option(
    help: ArgumentHelp("The same as --data, but a file is sent unchanged.", valueName: "text|@file"))
  var dataBinary: [String] = []

  @Option(
    help: ArgumentHelp(
      "A JSON body for every URL, with Content-Type and Accept: application/json. @FILE as above.",
      valueName: "json|@file"))
  var json: [String] = []

  func validate() throws {
    let given = [data, dataRaw, dataBinary, json].filter { !$0.isEmpty }
    guard given.count <= 1 else {
      throw ValidationError("--data, --data-raw, --data-binary and --json can't be combined; give one of them.")
    }
    guard readsInput.count <= 1 else {
      throw ValidationError("Standard input can be read only once; give @- once.")
    }
  }

  /// The values that read standard input.
  var readsInput: [String] { (data + dataBinary + json).filter { $0 == "@-" } }

  /// The source of the body. Nil without one.
  var source: BodySource? {
    if !data.isEmpty { return BodySource(form: .form, texts: data) }
    if !dataRaw.isEmpty { return BodySource(form: .raw, texts: dataRaw) }
    if !dataBinary.isEmpty { return BodySource(form: .binary, texts: dataBinary) }
    return json.isEmpty ? nil : BodySource(form: .json, texts: json)
  }

  /// The method of the requests.
  var sentMethod: HTTPRequest.Method { method ?? (source == nil ? .get : .post) }
}
