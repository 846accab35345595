import HeadgateThreads
import Logging
import Testing

extension ProcessWideTests {
  /// The code of docs/migrating.md for LSLog.
  @Suite struct MigratingLogTests {
    final class LogFile: HeadgateLogDelegate {
      let lines = Record<String>()

      func append(_ line: String) { lines.add(line) }

      func headgateLog(_ line: String, source: HeadgateLog.Source) { append(line) }
    }

    @Test("LSLog: sources are switched on and off, one by one and all together")
    func sources() {
      HeadgateLog.enable(.threadPool)
      #expect(HeadgateLog.isEnabled(.threadPool))
      HeadgateLog.disable(.threadPool)
      #expect(!HeadgateLog.isEnabled(.threadPool))
      #expect(!HeadgateLog.isEnabled(.dispatcher))
      HeadgateLog.enableAll()
      #expect(HeadgateLog.Source.allCases.allSatisfy { HeadgateLog.isEnabled($0) })
      HeadgateLog.disableAll()
      #expect(!HeadgateLog.Source.allCases.contains { HeadgateLog.isEnabled($0) })
    }

    @Test("LSLog: the delegate receives the lines, formatted, of the sources that are on")
    func delegate() {
      let logFile = LogFile()
      HeadgateLog.delegate = logFile
      defer {
        HeadgateLog.delegate = nil
        HeadgateLog.disable(.timer)
      }
      TimerThread(name: "test-quiet").dispose()
      HeadgateLog.enable(.timer)
      TimerThread(name: "test-told").dispose()
      let told = logFile.lines.events.filter { $0.contains("test-told: disposed") }
      #expect(told.count == 1)
      #expect(told.first?.contains("headgate.timer") == true)
      #expect(!logFile.lines.events.contains { $0.contains("test-quiet") })
      Logger(label: "app.gallery").debug("12 images")
    }
  }
}
