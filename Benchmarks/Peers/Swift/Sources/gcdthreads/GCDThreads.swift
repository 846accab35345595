// How Dispatch's global queue handles blocking calls: K of them wait on a semaphore while the process's threads are
// counted once a second for T seconds. Linux only: the count is read from /proc.
import Dispatch
import Foundation

@main
struct GCDThreads {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    guard arguments.count == 2, arguments[0] > 0, arguments[1] > 0 else {
      FileHandle.standardError.write(Data("usage: \(CommandLine.arguments[0]) BLOCKING-CALLS SECONDS\n".utf8))
      exit(2)
    }
    let (calls, seconds) = (arguments[0], arguments[1])
    let gate = DispatchSemaphore(value: 0)
    let group = DispatchGroup()
    print("t,threads")
    let start = DispatchTime.now()
    for _ in 0..<calls {
      DispatchQueue.global().async(group: group) { gate.wait() }
    }
    for second in 0...seconds {
      // A semaphore that is never signalled, as a timer: the main thread waits until the next second.
      _ = DispatchSemaphore(value: 0).wait(timeout: start + .seconds(second))
      print("\(second),\(threadCount())")
    }
    for _ in 0..<calls { gate.signal() }
    group.wait()
  }

  static func threadCount() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("Threads:") }
    return line.flatMap { Int($0.dropFirst("Threads:".count).trimmingPrefix { $0.isWhitespace }) } ?? 0
  }
}
