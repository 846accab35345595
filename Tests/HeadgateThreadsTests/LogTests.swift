import HeadgateThreads
import Logging
import Testing

/// Each test has its own switches and output. Those of `HeadgateLog` belong to the whole process.
@Suite struct LogTests {
  /// The core of `HeadgateLog`, with handlers that keep their input.
  private final class Bench: Sendable {
    let switches = LogSwitches()
    let output: LogOutput
    let handled: Record<String>
    let labels: Record<String>

    init(onHandling: @escaping @Sendable () -> Void = {}, onMaking: @escaping @Sendable () -> Void = {}) {
      let (handled, labels) = (Record<String>(), Record<String>())
      (self.handled, self.labels) = (handled, labels)
      output = LogOutput { label in
        labels.add(label)
        onMaking()
        return Logger(label: label) { Handler(label: $0, lines: handled, onHandling: onHandling) }
      }
    }

    func note(_ source: HeadgateLog.Source, _ message: @autoclosure () -> String) {
      if switches.isEnabled(source) { output.write(source, .debug, message()) }
    }
  }

  private struct Handler: LogHandler {
    let label: String
    let lines: Record<String>
    let onHandling: @Sendable () -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.add("[\(event.level)] \(label): \(event.message) \(event.metadata?.keys.sorted() ?? [])")
      onHandling()
    }
  }

  private final class Delegate: HeadgateLogDelegate {
    let lines = Record<String>()
    let onLine: @Sendable () -> Void

    init(_ onLine: @escaping @Sendable () -> Void = {}) { self.onLine = onLine }

    func headgateLog(_ line: String, source: HeadgateLog.Source) {
      lines.add("\(source)|\(line)")
      onLine()
    }
  }

  @Test("Sources are on and off one by one and all together, and the message of a disabled source is never computed")
  func switches() {
    let bench = Bench()
    let computed = Record<String>()
    func told() -> [String] {
      for source in HeadgateLog.Source.allCases {
        bench.note(
          source,
          {
            computed.add(source.description); return "x"
          }())
      }
      defer { #expect(computed.events.count == bench.handled.events.count) }
      return HeadgateLog.Source.allCases.filter { bench.switches.isEnabled($0) }.map(\.description)
    }
    #expect(told() == [])
    #expect(computed.events == [])
    #expect(bench.labels.events == [])
    bench.switches.enable(.timer)
    bench.switches.enable(.queue)
    #expect(told() == ["timer", "queue"])
    bench.switches.disable(.timer)
    #expect(told() == ["queue"])
    bench.switches.enableAll()
    #expect(told() == ["thread_pool", "timer", "dispatcher", "thread", "queue", "flow"])
    bench.switches.disableAll()
    #expect(told() == [])
    #expect(computed.events.count == 9)
    // One logger per source, made on first use.
    #expect(bench.labels.events.sorted() == computed.events.sorted().uniqued.map { "headgate.\($0)" })
  }

  @Test("swift-log gets the level, the label, the message and the thread; a handler's own level does not silence it")
  func handler() {
    let bench = Bench()
    bench.output.write(.queue, .debug, "hello")
    bench.output.write(.threadPool, .warning, "look")
    #expect(
      bench.handled.events == [
        #"[debug] headgate.queue: hello ["thread"]"#, #"[warning] headgate.thread_pool: look ["thread"]"#,
      ])
  }

  @Test("A delegate gets the formatted line instead: time, level, source, thread, message")
  func delegate() throws {
    let bench = Bench()
    let delegate = Delegate()
    bench.output.delegate = delegate
    let done = Latch()
    _ = try WorkerThread(name: "a-thread") {
      bench.output.write(.queue, .debug, "hello")
      done.countDown()
    }
    #expect(done.wait())
    #expect(bench.handled.events == [])
    let line = try #require(delegate.lines.events.first)
    #expect(delegate.lines.events.count == 1)
    let form = #/queue\|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[debug\] headgate\.queue \(a-thread\): hello/#
    #expect(line.wholeMatch(of: form) != nil, "\(line)")
    bench.output.delegate = nil
    bench.output.write(.queue, .debug, "again")
    #expect(delegate.lines.events.count == 1)
    #expect(bench.handled.events.count == 1)
  }

  @Test("A time is written in UTC, with leading zeros")
  func stamp() {
    #expect(LogLine.stamp(seconds: 0, nanoseconds: 0) == "1970-01-01T00:00:00.000Z")
    #expect(LogLine.stamp(seconds: 951_782_399, nanoseconds: 7_999_999) == "2000-02-28T23:59:59.007Z")
    #expect(LogLine.stamp(seconds: 951_782_400, nanoseconds: 999_999_999) == "2000-02-29T00:00:00.999Z")
  }

  @Test("A delegate that logs does not recurse: its line goes to swift-log")
  func delegateThatLogs() {
    let bench = Bench()
    let delegate = Delegate { bench.output.write(.timer, .warning, "from the delegate") }
    bench.output.delegate = delegate
    for _ in 0..<2 { bench.output.write(.queue, .debug, "hello") }
    #expect(delegate.lines.events.count == 2)
    #expect(
      bench.handled.events == Array(repeating: #"[warning] headgate.timer: from the delegate ["thread"]"#, count: 2))
    bench.output.delegate = nil
  }

  @Test("A handler that logs does not recurse: its line is dropped, and later lines are not")
  func handlerThatLogs() {
    let own = Locked<Bench?>(nil)
    let bench = Bench(onHandling: { own.withLock { $0 }?.output.write(.timer, .warning, "from the handler") })
    own.withLock { $0 = bench }
    for _ in 0..<2 { bench.output.write(.queue, .debug, "hello") }
    bench.output.delegate = Delegate { bench.output.write(.thread, .debug, "from the delegate") }
    bench.output.write(.queue, .debug, "hello")
    #expect(
      bench.handled.events == [
        #"[debug] headgate.queue: hello ["thread"]"#, #"[debug] headgate.queue: hello ["thread"]"#,
        #"[debug] headgate.thread: from the delegate ["thread"]"#,
      ])
    bench.output.delegate = nil
    own.withLock { $0 = nil }
  }

  @Test("The program's factory is called without locks: it may log, and read the delegate")
  func factory() {
    let own = Locked<Bench?>(nil)
    let bench = Bench(onMaking: {
      let bench = own.withLock { $0 }
      // Under the output's lock neither would return.
      #expect(bench?.output.delegate == nil)
      bench?.output.write(.timer, .warning, "from the factory")
    })
    own.withLock { $0 = bench }
    bench.output.write(.queue, .debug, "hello")
    #expect(bench.handled.events == [#"[debug] headgate.queue: hello ["thread"]"#])
    own.withLock { $0 = nil }
  }

  @Test("A delegate is released without locks: its deinit may read the delegate")
  func delegateEnds() {
    final class Dying: HeadgateLogDelegate {
      let output: LogOutput
      let ended: Latch
      init(_ output: LogOutput, _ ended: Latch) { (self.output, self.ended) = (output, ended) }
      deinit {
        _ = output.delegate
        ended.countDown()
      }
      func headgateLog(_ line: String, source: HeadgateLog.Source) {}
    }
    let bench = Bench()
    let ended = Latch()
    bench.output.delegate = Dying(bench.output, ended)
    bench.output.delegate = nil
    #expect(ended.wait())
  }

  @Test("Four threads log while sources and delegate are switched: every line goes to exactly one place")
  func manyThreads() throws {
    let bench = Bench()
    let delegate = Delegate()
    let told = Record<Int>()
    try onThreads(5) { number in
      for round in 0..<300 {
        if number < 4 {
          let source = HeadgateLog.Source.allCases[round % 6]
          bench.note(
            source,
            {
              told.add(round); return "\(number) \(round)"
            }())
        } else {
          if round % 2 == 0 { bench.switches.enableAll() } else { bench.switches.disableAll() }
          bench.output.delegate = round % 3 == 0 ? delegate : nil
        }
      }
    }
    #expect(told.events.count == bench.handled.events.count + delegate.lines.events.count)
  }

  @Test("The process's log has all sources, each with its own name")
  func sources() {
    let sources = HeadgateLog.Source.allCases
    #expect(Set(sources).count == 6)
    #expect(Set(sources.map(\.description)).count == 6)
    for source in sources { #expect(sources.count { $0 == source } == 1) }
  }
}

extension [String] {
  /// Removes equal neighbours.
  fileprivate var uniqued: [String] {
    reduce(into: []) { result, element in if result.last != element { result.append(element) } }
  }
}
