import HTTPTypes
import HeadgateDispatch

// Remarks on requests other than GET.

extension FetchRun {
  /// Points out effects that a user might expect from the options but that they don't have.
  ///
  /// - Parameter otherFailures: The number of failures in the session with other methods and bodies.
  func remarkOnSending(otherFailures: Int) {
    if otherFailures > 0 {
      report.remark(
        "\(otherFailures) URLs of the session failed with another method or body; give the same -X, -d or --json to "
          + "repeat them")
    }
    // Any URL will do: only the method and the fields matter.
    guard options.retries > 0, let sample = try? options.request("http://a/"), !options.sent.mayRepeat(sample) else {
      return
    }
    report.remark(
      "--retry does not repeat \(options.sent.method.rawValue), which may have an effect twice; an Idempotency-Key field "
        + "or --retry-unsafe allows it")
  }
}
