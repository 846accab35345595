import HeadgateThreads
import Logging

/// The right to have one request under way at an end-point, over a socket of one's own. Held by its owner until
/// ``release()``.
///
/// A permit that is let go without a release is released, and the log says where it was acquired: a leaked permit is
/// a place that is lost.
public final class Permit: Sendable {
  /// Where it is for.
  public let endPoint: EndPoint

  /// The time it waited.
  public let waited: Duration

  private let gate: EndPointGate
  let ticket: Ticket
  private let leases: SocketLeases
  private let released = SingleUse()
  private let origin: CallSite

  init(
    _ gate: EndPointGate, _ ticket: Ticket, _ leases: SocketLeases, _ endPoint: EndPoint, waited: Duration,
    _ origin: CallSite
  ) {
    self.gate = gate
    self.ticket = ticket
    self.leases = leases
    self.endPoint = endPoint
    self.waited = waited
    self.origin = origin
  }

  deinit {
    guard release() else { return }
    gate.logger.warning(
      "A permit for \(endPoint) acquired at \(origin) was let go without a release. It was released now: call release() when the work is done."
    )
  }

  /// Tells what the work really weighed, in units by the names of budgets: what it did not use of the weights that the permit
  /// was asked for with is free again in the window that it was counted in, and what it used beyond is owed. Names that
  /// are not in it stay as they were counted. Before or after the release, until the windows have passed, once: true if
  /// that was so. O(log n).
  @discardableResult
  public func settle(_ weights: [String: Int]) -> Bool { gate.settle(ticket, weights) }

  /// Gives the permit back, from any thread; close its connection first. The next request starts at once. Only the first
  /// call does something: true for that one.
  @discardableResult
  public func release() -> Bool {
    guard released.take() else { return false }
    // The socket first: the next one needs both.
    leases.leave()
    gate.learnEnd(of: ticket)
    gate.finish(ticket)
    return true
  }
}

/// A place in a caller's source, for messages.
struct CallSite: Sendable, CustomStringConvertible {
  let file: String
  let line: UInt

  var description: String { "\(file):\(line)" }
}
