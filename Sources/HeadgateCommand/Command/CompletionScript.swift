/// Corrects a mistake in the completion script that the argument parser generates.
enum CompletionScript {
  /// The script without names that contain a dot in the lists for fish's `argparse`: one such name makes it refuse the
  /// whole list, and with it all completions of the subcommand. The options themselves are still offered.
  static func mended(_ script: String) -> String {
    let lines = script.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      guard line.contains("__headgate_parse_subcommand ") else { return String(line) }
      return line.split(separator: " ", omittingEmptySubsequences: false)
        .filter { !($0.hasPrefix("'") && $0.contains(".")) }.joined(separator: " ")
    }
    return lines.joined(separator: "\n")
  }
}
