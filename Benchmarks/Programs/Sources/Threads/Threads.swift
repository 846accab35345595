import HeadgateDispatch
import Measure

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// How many threads the process has while N requests wait at one end-point, once a second for S seconds: `Threads N S`.
/// The peers' `gcdthreads` is the same for blocking calls on libdispatch.
@main
struct ThreadsBenchmark {
  static func main() throws {
    let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    guard numbers.count == 2 else { complain("usage: Threads WAITING SECONDS") }
    let dispatcher = URLDispatcher(transport: SilentTransport())
    var request = try DispatchRequest("http://host/")
    request.deadline = .seconds(3600)
    for _ in 0..<numbers[0] { dispatcher.dispatch(request) { _ in } }
    for second in 0..<numbers[1] {
      print("\(second),\(threadCount())")
      sleep(1)
    }
  }

  static func threadCount() -> Int {
    guard let file = fopen("/proc/self/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, 256, file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if text.hasPrefix("Threads:") { return Int(text.split(separator: "\t").last?.dropLast() ?? "") ?? 0 }
    }
    return 0
  }
}

/// Never answers.
struct SilentTransport: Transport {
  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl { Nothing() }

  final class Nothing: ExchangeControl {
    func cancel() {}
    func resume() {}
    var phase: DispatchError.Phase { .connecting }
  }
}
