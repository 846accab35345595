#if os(Linux)
import Glibc
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// The cost of waiting.
@Suite struct DispatcherThreadTests {
  @Test("D59 a hundred thousand waiting requests use as many threads as ten do")
  func threads() async {
    // In its own process, since other tests start threads too.
    await #expect(processExitsWith: .success) {
      let dispatcher = URLDispatcher(transport: ScriptedTransport())
      var request = try DispatchRequest("http://a/")
      // A timer each. None fires, however slow the machine is.
      (request.deadline, request.timeout) = (.seconds(3600), nil)
      for _ in 0..<16 { dispatcher.dispatch(request) { _ in } }
      let few = threadCount()
      for _ in 0..<100_000 { dispatcher.dispatch(request) { _ in } }
      guard dispatcher.gate.counts.waiting == 100_010, few > 0, threadCount() <= few else { exit(1) }
      exit(0)
    }
  }
}

/// The threads of this process.
func threadCount() -> Int {
  guard let file = fopen("/proc/self/status", "r") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  while fgets(&line, 256, file) != nil {
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if text.hasPrefix("Threads:") { return Int(text.split(separator: "\t").last?.dropLast() ?? "") ?? 0 }
  }
  return 0
}
#endif
