import CHeadgate
import HeadgateThreads
import Logging
import Testing

/// The lines that handlers get, with the thread's name.
@Suite struct LogThreadTests {
  private struct Handler: LogHandler {
    let lines: Record<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.add("\(event.message)|\(event.metadata?["thread"].map { "\($0)" } ?? "none")") }
  }

  /// Keeps its input unchanged.
  private struct Keeper: LogHandler {
    let kept: Record<LogEvent>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { kept.add(event) }
  }

  /// Accepts only its own level.
  private struct Stubborn: LogHandler {
    let lines: Record<String>
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level {
      get { .warning }
      nonmutating set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { nil }
      set {}
    }

    func log(event: LogEvent) { lines.add("\(event.message)") }
  }

  private let lines = Record<String>()
  private let output: LogOutput

  init() {
    let lines = lines
    output = LogOutput { label in Logger(label: label) { _ in Handler(lines: lines) } }
  }

  private func rename(_ name: String) { name.withCString { headgate_thread_name($0) } }

  @Test("Each line has its thread's current name, for any number of threads in any order")
  func names() throws {
    let (output, lines) = (output, lines)
    let names = (0..<50).flatMap { ["worker-\($0)", "\($0)", "a-name-of-15-b\($0 % 10)"] }
    let done = Latch()
    _ = try WorkerThread(name: "log") {
      for _ in 0..<2 {
        for name in names {
          rename(name)
          output.write(.queue, .debug, name)
        }
      }
      done.countDown()
    }
    #expect(done.wait())
    #expect(lines.events == (names + names).map { "\($0)|\($0)" })
  }

  @Test("Two threads without a name have two")
  func unnamed() throws {
    let (output, lines) = (output, lines)
    try onThreads(2) { number in
      rename("")
      for _ in 0..<3 { output.write(.queue, .debug, "\(number)") }
    }
    #expect(lines.events.count == 6)
    #expect(Set(lines.events).count == 2)
    #expect(Set(lines.events.compactMap { $0.split(separator: "|").last }).count == 2)
  }

  @Test("A line that a handler keeps is unchanged after later lines and the thread's end")
  func kept() throws {
    let kept = Record<LogEvent>()
    let output = LogOutput { label in Logger(label: label) { _ in Keeper(kept: kept) } }
    try onThreads(2) { number in
      for line in 0..<3 {
        rename("told-by-\(number)-\(line)")
        output.write(.queue, line == 1 ? .warning : .debug, "a line that takes memory of its own: \(number), \(line)")
      }
    }
    let lines = kept.events.map { "\($0.level) \($0.message) \($0.metadata?["thread"].map { "\($0)" } ?? "none")" }
    let expected = (0..<2).flatMap { number in
      ["debug", "warning", "debug"].enumerated().map { line, level in
        "\(level) a line that takes memory of its own: \(number), \(line) told-by-\(number)-\(line)"
      }
    }
    #expect(lines.sorted() == expected.sorted())
  }

  @Test("A handler with its own level gets nothing below it")
  func ownLevel() {
    let lines = lines
    let output = LogOutput { label in Logger(label: label) { _ in Stubborn(lines: lines) } }
    output.write(.queue, .debug, "below")
    output.write(.queue, .warning, "at")
    #expect(lines.events == ["at"])
  }
}
