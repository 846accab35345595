import HeadgateThreads
import Testing

/// Tests that set properties of the process (the log's delegate, the handler of uncaught errors) run one after another.
@Suite(.serialized) enum ProcessWideTests {}

/// Keeps the received lines.
final class LogLines: HeadgateLogDelegate {
  private let lines = Record<String>()

  func headgateLog(_ line: String, source: HeadgateLog.Source) { lines.add(line) }

  /// The lines about one thread.
  func about(_ name: String) -> [String] { lines.events.filter { $0.contains("\"\(name)\"") } }
}

extension ProcessWideTests {
  @Suite struct UncaughtErrorTests {
    struct Broken: Error, CustomStringConvertible {
      let number: Int
      var description: String { "broken \(number)" }
    }

    @Test(
      "An error without a join goes to the thread's handler, in whichever way the thread was released", arguments: 0..<4
    )
    func threadHandler(way: Int) async throws {
      let told = Parker()
      let errors = Record<String>()
      let names = Record<String>()
      let attributes = ThreadAttributes(name: "way \(way)", isDetached: way == 0) { error, thread in
        errors.add("\(error)")
        names.add(thread.name)
        told.unpark()
      }
      let gate = Parker()
      try await onThread {
        let thread = try ManagedThread.spawn(attributes) { () throws(Broken) -> Void in
          _ = gate.park(until: .after(generous))
          throw Broken(number: way)
        }
        switch way {
        case 0: gate.unpark()
        case 1:
          try thread.detach()
          gate.unpark()
        case 2:
          gate.unpark()
          #expect(looks { thread.hasEnded })
          try thread.detach()
        default: gate.unpark()  // the handle goes
        }
      }
      #expect(told.park(until: .after(generous)))
      #expect(errors.events == ["broken \(way)"])
      #expect(names.events == ["way \(way)"])
    }

    @Test("An error thrown by a join goes to no handler")
    func joined() async throws {
      let errors = Record<String>()
      let attributes = ThreadAttributes { error, _ in errors.add("\(error)") }
      let code = try await onThread {
        let thread = try ManagedThread.spawn(attributes) { () throws(Broken) -> Void in throw Broken(number: 1) }
        return joinCode(thread)
      }
      #expect(code == .failed)
      #expect(errors.events.isEmpty)
    }

    @Test("Without its own handler a thread's error goes to the process's, and without that to the log")
    func processHandler() async throws {
      let told = Parker()
      let errors = Record<String>()
      let log = LogLines()
      HeadgateLog.delegate = log
      ManagedThread.onUncaughtError = { error, thread in
        guard thread.name == "for the process" else { return }
        errors.add("\(error)")
        told.unpark()
      }
      defer { ManagedThread.onUncaughtError = nil }
      try ManagedThread.spawnDetached(ThreadAttributes(name: "for the process")) { () throws(Broken) -> Void in
        throw Broken(number: 7)
      }
      #expect(told.park(until: .after(generous)))
      #expect(errors.events == ["broken 7"])
      #expect(log.about("for the process").isEmpty)

      ManagedThread.onUncaughtError = nil
      defer { HeadgateLog.delegate = nil }
      let gone = Latch()
      let local = ThreadLocal { Farewell(gone) }
      try ManagedThread.spawnDetached(ThreadAttributes(name: "for the log")) { () throws(Broken) -> Void in
        local.withValue { _ in }
        throw Broken(number: 8)
      }
      // A thread's values are destroyed after its error was reported.
      #expect(gone.wait())
      #expect(log.about("for the log").count == 1)
      #expect(log.about("for the log").first?.contains("broken 8") == true)
    }

    @Test("A handle released before the join detaches the thread, and the log says so; others log nothing")
    func dropped() async throws {
      let log = LogLines()
      HeadgateLog.delegate = log
      defer { HeadgateLog.delegate = nil }
      let gone = Latch(4)
      try await onThread {
        for name in ["forgotten", "detached", "joined", "never started"] {
          let farewell = Farewell(gone)
          let thread = ManagedThread(ThreadAttributes(name: name)) { farewell }
          if name != "never started" { try thread.start() }
          if name == "detached" { try thread.detach() }
          if name == "joined" { _ = try thread.join() }
        }
      }
      #expect(gone.wait())
      #expect(log.about("forgotten").count == 1)
      #expect(log.about("forgotten").first?.contains("detached") == true)
      for name in ["detached", "joined", "never started"] { #expect(log.about(name).isEmpty) }
    }
  }
}
