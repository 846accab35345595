import HeadgateThreads
import Logging

/// The right to run one request at an end-point, over one socket of the holder's own. Valid until ``release()``.
///
/// If a permit is deallocated without a release, it is released then, and a warning names the place where it was
/// acquired. Until then no other request could use it.
public final class Permit: Sendable {
  /// The end-point.
  public let endPoint: EndPoint

  /// The time spent waiting for the permit.
  public let waited: Duration

  package let gate: EndPointGate
  let ticket: Ticket
  private let leases: SocketLeases
  /// The coordinator's permit, which the gate releases with its own. Nil without a coordinator.
  private let shared: (any SharedPermit)?
  private let released = SingleUse()
  private let reported = SingleUse()
  private let granted: Deadline
  private let origin: CallSite

  init(
    _ gate: EndPointGate, _ ticket: Ticket, _ leases: SocketLeases, _ endPoint: EndPoint, waited: Duration,
    at granted: Deadline, _ origin: CallSite
  ) {
    self.granted = granted
    self.gate = gate
    self.ticket = ticket
    self.leases = leases
    shared = gate.sharedPermit(of: ticket)
    self.endPoint = endPoint
    self.waited = waited
    self.origin = origin
  }

  deinit {
    guard release() else { return }
    gate.logger.warning(
      "A permit for \(endPoint) acquired at \(origin) was dropped without a release. It has now been released: call release() when the work is done."
    )
  }

  /// Corrects the weights that the permit was charged, by budget name. Units that were not used become free again in
  /// the window that they were charged to; units beyond the charge become debt. Budgets not named keep the charge.
  ///
  /// Call it once, before or after the release, but before the windows have passed. Returns whether the weights were
  /// corrected. O(log n).
  @discardableResult
  public func settle(_ weights: [String: Int]) -> Bool {
    shared?.settle(weights)
    return gate.settle(ticket, weights)
  }

  /// Reports how the work went, from any thread, so that pauses, the breaker and adaptive limits apply to it as they do
  /// to HTTP requests: see ``GateLimits/pauses``, ``GateLimits/breaker`` and ``GateLimits/adaptive``. If the gate has
  /// none of these, a report has no effect.
  ///
  ///     let permit = try await gate.permit(for: database)
  ///     defer { permit.release() }
  ///     do {
  ///       rows = try await query()
  ///       permit.report(.answered)
  ///     } catch is TooManyConnections {
  ///       permit.report(.refused(retryAfter: .seconds(5)))
  ///     }
  ///
  /// Report before the release; afterwards a report has no effect. If several pieces of work follow one another under
  /// the permit, report each. A report says something about the time since the permit was granted: it neither extends
  /// nor ends a pause that began later, so a burst of refusals counts once. A permit that is released without a report
  /// counts as an answer of unknown content: it ends no pause early, and lowers nothing.
  ///
  /// Requests that wait for the end-point, and whose deadline lies within a pause that begins now, end during the call.
  /// O(log n) plus the requests that start or end.
  public func report(_ outcome: PermitOutcome) { note(outcome.outcome) }

  /// Reports an outcome.
  ///
  /// - Parameters:
  ///   - outcome: The outcome.
  ///   - isKept: Whether later processes should know of it.
  package func note(_ outcome: ExchangeOutcome, isKept: Bool = true) {
    _ = reported.take()
    guard gate.hearsOutcomes else { return }
    gate.note(outcome, of: ticket, startedAt: granted, isKept: isKept)
  }

  /// Returns the permit, from any thread. Close its connection first. The next request starts at once. Only the first
  /// call has an effect, and returns true.
  @discardableResult
  public func release() -> Bool {
    guard leave() else { return false }
    // The gate knows of no refusal, so this counts as an answer: otherwise nothing would end the recovery from a pause.
    if reported.take() { gate.note(.reached, of: ticket, startedAt: granted) }
    gate.finish(ticket)
    return true
  }

  /// Returns the permit unused: no rate counts it, and it says nothing about the end-point. Otherwise like
  /// ``release()``.
  @discardableResult
  public func decline() -> Bool {
    guard leave() else { return false }
    gate.decline(ticket)
    return true
  }

  private func leave() -> Bool {
    guard released.take() else { return false }
    // The socket first, because the next request needs both.
    leases.leave()
    return true
  }
}

/// A place in a caller's source, for messages.
struct CallSite: Sendable, CustomStringConvertible {
  let file: String
  let line: UInt

  var description: String { "\(file):\(line)" }
}
