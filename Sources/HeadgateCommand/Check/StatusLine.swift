import HeadgateDispatch

/// The line that `--check` writes to standard output for a URL.
enum StatusLine {
  /// The status or the error's code, the URL, and the redirect target if any, separated by tabs. Nil for a URL that was
  /// not requested.
  static func of(_ job: FetchJob, _ outcome: FetchOutcome) -> String? {
    switch outcome {
    case .checked(let head, let url, _), .refused(let head, let url, _, _):
      line("\(head.statusCode)", job, url == job.request.url ? nil : url)
    case .failed(let error, _) where FailureClass(error.code) != nil: line(error.code.description, job, nil)
    default: nil
    }
  }

  private static func line(_ status: String, _ job: FetchJob, _ url: String?) -> String {
    let urls = [job.url, url].compactMap(\.self).map { ShownText.of(ShownText.withoutPassword($0), atMost: .max) }
    return ([status] + urls).joined(separator: "\t") + "\n"
  }
}
