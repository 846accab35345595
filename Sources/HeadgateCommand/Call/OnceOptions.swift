import ArgumentParser

/// How often a row is sent: not less than once, and not twice.
struct OnceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep a journal in this file, and go on with what it and the results tell of: the same command after an "
        + "interrupt, a kill or a power cut sends the rows that have no result. The list may have changed "
        + "meanwhile. Needs -o FILE.",
      valueName: "file"
    )
  )
  var session: String?

  @Option(
    help: ArgumentHelp(
      "Send the field Idempotency-Key: auto, the same for a row at every attempt and, with --session, after "
        + "every restart; or a text with {field} in it.",
      valueName: "auto|text"
    )
  )
  var idempotencyKey: String?

  @Option(
    help: ArgumentHelp(
      "How many times a row is sent again that the network lost or the server puts off (408, 429, 502, 503, "
        + "504), with growing waits in between. Never a row that may not be sent twice: that is a POST or PATCH "
        + "without an idempotency key. (default: 0)",
      valueName: "n"
    ),
    transform: OptionValue.retries
  )
  var retry = 0

  @Flag(help: "Send rows twice that may not be, by --retry and by --session: for servers that can tell.")
  var retryUnsafe = false

  @Flag(
    help: ArgumentHelp(
      "With --session: send rows again that failed. Each gets another result, which counts. One whose outcome "
        + "is unknown is not "
        + "sent, unless --retry-unsafe is given."))
  var retryFailed = false

  func validate() throws {
    guard session != "" else { throw ValidationError("--session needs the name of a file.") }
    guard session != nil || !retryFailed else {
      throw ValidationError("--retry-failed is about a session's results: give --session FILE as well.")
    }
    if let idempotencyKey { _ = try Self.keySource(idempotencyKey) }
  }

  /// Where keys come from.
  static func keySource(_ text: String) throws -> KeySource {
    if text == "auto" { return .automatic }
    do throws(OptionError) {
      let template = try Template(text)
      guard template.isVariable else {
        throw OptionError("all rows would have one key, and the server would do one of them: write auto, or {field}")
      }
      return .template(template)
    } catch {
      throw ValidationError("--idempotency-key: \(error).")
    }
  }
}
