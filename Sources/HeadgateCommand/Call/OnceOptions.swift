import ArgumentParser

/// Options that determine how often a row is sent: at least once, and not twice.
struct OnceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep a journal in this file, to continue an earlier run: after an interrupt, a kill or a power cut, the "
        + "same command sends the rows that have no result yet. The list may have changed in the "
        + "meantime. Needs -o FILE.",
      valueName: "file"
    ), completion: .file()
  )
  var session: String?

  @Option(
    help: ArgumentHelp(
      "Send an Idempotency-Key field. auto: a key that stays the same for a row at every attempt and, with "
        + "--session, after every restart. Otherwise a text with {field}.",
      valueName: "auto|text"
    )
  )
  var idempotencyKey: String?

  @Flag(
    help: ArgumentHelp(
      "With --session: send failed rows again. Each gets another result, which counts. A row whose outcome "
        + "is unknown is sent only "
        + "with --retry-unsafe."))
  var retryFailed = false

  func validate() throws {
    guard session != nil || !retryFailed else {
      throw ValidationError("--retry-failed needs the results of a session: give --session FILE too.")
    }
    if let idempotencyKey { _ = try Self.keySource(idempotencyKey) }
  }

  static let oneKey = "all rows would have the same key, so the server would process only one of them"

  /// The source of keys.
  static func keySource(_ text: String) throws -> KeySource {
    if text == "auto" { return .automatic }
    do throws(OptionError) {
      let template = try Template(text)
      guard template.isVariable else {
        throw OptionError(
          "\(oneKey): write auto, or use {field}")
      }
      return .template(template)
    } catch {
      throw ValidationError("--idempotency-key: \(error).")
    }
  }
}
