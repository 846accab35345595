import ArgumentParser
import HTTPTypes

/// What is sent to every URL: another method than GET, a body. Named as in curl.
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
      "Send this body to every URL, as a form unless -H 'Content-Type: …' says otherwise; @FILE reads it from a file, "
        + "without its line ends, and @- from the standard input. Several are joined by &.",
      valueName: "text|@file"
    )
  )
  var data: [String] = []

  @Option(
    help: ArgumentHelp("The same, and an @ at the beginning means nothing.", valueName: "text"))
  var dataRaw: [String] = []

  @Option(
    help: ArgumentHelp("The same as --data, and a file is sent with all its bytes.", valueName: "text|@file"))
  var dataBinary: [String] = []

  @Option(
    help: ArgumentHelp(
      "Send this JSON to every URL, and ask for JSON (Content-Type, Accept); @FILE as above.", valueName: "json|@file"))
  var json: [String] = []

  @Flag(
    help: ArgumentHelp(
      "Let --retry and --session send a URL twice that may not be: POST and PATCH without an Idempotency-Key field. For "
        + "servers that can tell."))
  var retryUnsafe = false

  func validate() throws {
    let given = [data, dataRaw, dataBinary, json].filter { !$0.isEmpty }
    guard given.count <= 1 else {
      throw ValidationError("--data, --data-raw, --data-binary and --json exclude each other; give one of them.")
    }
    guard readsInput.count <= 1 else {
      throw ValidationError("The standard input can be read only once; give @- once.")
    }
  }

  /// The options that read the standard input.
  var readsInput: [String] { (data + dataBinary + json).filter { $0 == "@-" } }

  /// Where the body comes from; nil: there is none.
  var source: BodySource? {
    if !data.isEmpty { return BodySource(form: .form, texts: data) }
    if !dataRaw.isEmpty { return BodySource(form: .raw, texts: dataRaw) }
    if !dataBinary.isEmpty { return BodySource(form: .binary, texts: dataBinary) }
    return json.isEmpty ? nil : BodySource(form: .json, texts: json)
  }

  /// The method that these make.
  var sentMethod: HTTPRequest.Method { method ?? (source == nil ? .get : .post) }
}
