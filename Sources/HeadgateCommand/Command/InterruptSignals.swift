import CHeadgate
import Dispatch
import HeadgateLibC
import HeadgateThreads

/// Calls a closure when one of the given signals arrives. The signals no longer have their usual effect on the process.
///
/// A signal that the process has inherited as ignored stays ignored, as in every program: a shell does so for programs
/// in the background of a script, and `nohup` does for SIGHUP.
final class InterruptSignals {
  private let sources: [any DispatchSourceSignal]

  // One for all, so that no handler runs during another.
  private static let queue = DispatchQueue(label: "headgate-signals")

  // The signals that the program ignores by itself, which it has not inherited.
  private static let handled = Locked(Set<Int32>())

  /// The signals that this program may ignore by itself.
  static var ignored: Set<Int32> { handled.withLock { $0 }.union([SIGPIPE]) }

  init(_ numbers: [Int32] = [SIGINT, SIGTERM], _ action: @escaping @Sendable () -> Void) {
    // A source takes effect some time after `resume()`. Until then a signal ends the process, or is lost.
    let registrations = DispatchGroup()
    defer { registrations.wait() }
    sources = numbers.filter(Self.take).map { number in
      #if canImport(Darwin)
      // Otherwise the signal would end the process. Elsewhere libdispatch has a handler of its own.
      signal(number, SIG_IGN)
      #endif
      let source = DispatchSource.makeSignalSource(signal: number, queue: Self.queue)
      // Several signals may arrive before the handler is called. (The source keeps the handler until it is cancelled.)
      source.setEventHandler { for _ in 0..<max(1, source.data) { action() } }
      registrations.enter()
      source.setRegistrationHandler { registrations.leave() }
      source.resume()
      return source
    }
  }

  /// Whether a signal has an effect. If so, it is the program's from now on.
  private static func take(_ number: Int32) -> Bool {
    handled.withLock { handled in
      guard !handled.contains(number) else { return true }
      guard headgate_signal_is_ignored(number) == 0 else { return false }
      handled.insert(number)
      return true
    }
  }

  /// The signals that end a run. A terminal that is closed may send SIGHUP twice, by its shell and by the system, so
  /// that one never is the second one, which ends everything at once.
  static func ending(_ isStopping: @escaping @Sendable () -> Bool, _ interrupt: @escaping @Sendable () -> Void)
    -> [InterruptSignals]
  {
    [InterruptSignals([SIGINT, SIGTERM], interrupt), InterruptSignals([SIGHUP]) { if !isStopping() { interrupt() } }]
  }

  /// Whether none of the signals has an effect.
  var isEmpty: Bool { sources.isEmpty }

  func cancel() { for source in sources { source.cancel() } }
}
