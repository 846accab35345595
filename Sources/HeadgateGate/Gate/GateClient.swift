import HeadgateThreads

/// A client that waits at a gate: a request or a bare permit. All calls come with no lock held.
package protocol GateClient: AnyObject, Sendable {
  /// Where it waits or runs.
  var endPoint: EndPoint { get }

  /// The client has a permit. It must run, and return the permit once with `EndPointGate.finish`. `moment` is the
  /// current time, if the caller has just read the clock.
  func granted(_ ticket: Ticket, at moment: Deadline?)

  /// The client has waited. Called before the call that ends the wait, and not if it was of no length. Several waits may
  /// precede one start.
  func waited(_ times: WaitTimes)

  /// The coordinator of shared permits refuses the client's permit, and the client is no longer at the gate.
  func refused(_ error: DispatchError)

  /// The caller was held back because the queue was full, and may continue.
  func admitted()

  /// The client's end-point or one of its scopes is paused, for the given reason. The client ends if its deadline would
  /// pass before the end of the pause, or if the end-point was given up.
  func paused(_ reason: WaitReason, failsWaitingRequests: Bool)

  /// The client's end-point was stopped manually. A client that waits ends if its dispatcher is closed.
  func stopped()

  /// The client must end soon, whether it waits or runs: the gate closes, another request displaced it from the queue,
  /// or its requests are cancelled as a group.
  func asked(toEndBecause code: DispatchError.Code)
}

extension WaitReason {
  /// The code of the requests that end when the end-point is given up for this reason.
  package var codeOfEnd: DispatchError.Code { kind == .unreachable ? .unreachable : .refusing }
}

extension Refusal {
  /// The error for the caller of a refused submission.
  package func error(at endPoint: EndPoint, waited: Duration = .zero) -> DispatchError {
    let (code, reason): (DispatchError.Code, WaitReason?) =
      switch self {
      case .queueFull: (.refused, nil)
      case .longLaneFull: (.longLaneFull, nil)
      case .shutDown: (.shutDown, nil)
      case .tooHeavy(let reason): (.tooHeavy, reason)
      case .paused(let reason): (.pausedUntil, reason)
      case .givenUp(let reason): (reason.codeOfEnd, reason)
      }
    return DispatchError(code, endPoint: endPoint, waited: waited, waitReason: reason)
  }
}
