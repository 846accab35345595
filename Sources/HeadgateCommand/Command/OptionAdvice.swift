/// Advice on options that other programs have and this one does not, in place of the parser's own guess.
enum OptionAdvice {
  /// The parser's message with the advice for the option that it names.
  static func added(to message: String) -> String {
    var lines = message.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard let first = lines.first, let start = first.firstRange(of: "Unknown option '") else { return message }
    let option = String(first[start.upperBound...].prefix { $0 != "'" && $0 != "=" })
    guard let advice = all[option] else { return message }
    lines[0] = first[..<start.upperBound] + "\(option)': \(advice)"
    return lines.joined(separator: "\n")
  }

  private static let all: [String: String] = {
    let list = "give -i FILE, with one URL per line."
    let folder = "give -P DIR."
    let atOnce = "give --per-host N for each host, -j N for all hosts together."
    let session = "give --session FILE from the first run on; the same command then continues it."
    let time = "give --max-time SECONDS for each request, --deadline SECONDS for the whole run."
    let table: [(options: [String], advice: String)] = [
      (["--input", "--input-list", "--list", "--file", "--urls", "--from-file", "--url-file"], list),
      (
        ["-p", "--out", "--out-dir", "--outdir", "--output-directory", "--dir", "--directory-prefix", "--folder"],
        folder
      ),
      (
        [
          "--concurrency", "--connections", "--max-concurrent-downloads", "--max-connection-per-server",
          "--max-threads",
          "--threads", "--workers", "--parallelism", "--max-procs",
        ], atOnce
      ),
      (["--resume", "-C", "--continue-at", "--save-session"], session),
      (["--timeout", "-T"], time),
      (["-t", "--retries", "--max-tries"], "give --retry N, which does not count the first attempt."),
      (["-w", "--wait", "--delay"], "give --min-interval SECONDS, or --rate N/s."),
      (["--write-out"], "give --log FILE for a JSON record of each URL; - is the standard output."),
      (["--spider"], "give --check."),
      (["--checksum"], "give --checksum-file FILE, with lines as sha256sum writes them."),
      (["-r", "--recursive", "--mirror"], "links are not followed: give a list of URLs with -i FILE."),
      (["--no-check-certificate"], "give -k, or better --cacert FILE."),
      (
        ["--compressed"],
        "call asks for gzip anyway, and unpacks it. Leave it out."
      ),
      (["-S", "--show-error"], "errors are always shown. Leave it out."),
      (["--max-overall-download-limit"], "give --limit-rate BYTES; for each host, --limit-rate '*=BYTES'."),
      (["--overwrite-existing", "--clobber", "--allow-overwrite"], "give --overwrite."),
    ]
    return Dictionary(table.flatMap { row in row.options.map { ($0, row.advice) } }) { first, _ in first }
  }()
}
