import Dispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Calls a closure for each of some signals, in place of what these do to a process.
final class InterruptSignals {
  private let sources: [any DispatchSourceSignal]

  init(_ numbers: [Int32] = [SIGINT, SIGTERM], _ action: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "headgate-signals")
    sources = numbers.map { number in
      // Else the signal would still end the process, before the source hears of it.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler(handler: action)
      source.resume()
      return source
    }
  }

  func cancel() { for source in sources { source.cancel() } }
}
