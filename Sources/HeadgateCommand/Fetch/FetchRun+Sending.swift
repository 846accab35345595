import HTTPTypes
import HeadgateDispatch

// What is said of requests that are no plain GET, before they are sent.

extension FetchRun {
  /// Says what the options don't do that somebody may expect of them.
  ///
  /// - Parameter otherFailures: How many failures of the session belong to other methods and bodies.
  func remarkOnSending(otherFailures: Int) {
    if otherFailures > 0 {
      report.remark(
        "\(otherFailures) URLs of the session failed with another method or another body: give the -X, -d or --json that "
          + "they failed with")
    }
    // Any URL will do: what decides is the method and the fields.
    guard options.retries > 0, let sample = try? options.request("http://a/"), !options.sent.mayRepeat(sample) else {
      return
    }
    report.remark(
      "--retry sends no \(options.sent.method.rawValue) again, which might be done twice then; an Idempotency-Key field "
        + "or --retry-unsafe allows it")
  }
}
