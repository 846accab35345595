import ArgumentParser

/// What the lines of a list mean.
enum ListFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
  /// One URL per line.
  case lines
  /// The input format of aria2c: URLs of one file in a line, separated by tabs, and its options in indented lines.
  case aria2

  var cutter: any InputCutter<NumberedLine> {
    switch self {
    case .lines: LineSplitter()
    case .aria2: Aria2Cutter()
    }
  }
}
