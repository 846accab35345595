import Dispatch
import HeadgateLibC

/// Calls a closure when one of the given signals arrives. The signals no longer have their usual effect on the process.
final class InterruptSignals {
  private let sources: [any DispatchSourceSignal]

  init(_ numbers: [Int32] = [SIGINT, SIGTERM], _ action: @escaping @Sendable () -> Void) {
    let queue = DispatchQueue(label: "headgate-signals")
    // A source takes effect some time after `resume()`. Until then a signal ends the process, or is lost.
    let registrations = DispatchGroup()
    defer { registrations.wait() }
    sources = numbers.map { number in
      #if canImport(Darwin)
      // Otherwise the signal would end the process. Elsewhere libdispatch has a handler of its own.
      signal(number, SIG_IGN)
      #endif
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler(handler: action)
      registrations.enter()
      source.setRegistrationHandler { registrations.leave() }
      source.resume()
      return source
    }
  }

  func cancel() { for source in sources { source.cancel() } }
}
