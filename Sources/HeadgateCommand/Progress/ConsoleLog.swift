import HeadgateDispatch
import Logging

/// Writes the library's log, such as pauses, as lines of the run. The standard handler would write into the panel.
struct ConsoleLog: LogHandler {
  let console: LineWriter
  /// Only warnings if the panel shows the rest.
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]

  init(_ console: LineWriter, _ level: Logger.Level) {
    self.console = console
    logLevel = level
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    console.tell("headgate: \(ShownText.of("\(event.message)"))\n")
  }

  /// The logger of a run.
  static func logger(_ console: LineWriter, _ progress: ProgressMode, isQuiet: Bool) -> Logger {
    let level: Logger.Level = isQuiet ? .error : progress == .full ? .warning : .info
    return Logger(label: "headgate.dispatcher") { _ in ConsoleLog(console, level) }
  }
}
