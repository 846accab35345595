import HeadgateThreads

/// What waits at a gate: a request or a bare permit. All calls come with no lock held.
package protocol GateClient: AnyObject, Sendable {
  /// It has a permit: run, and give it back once through `EndPointGate.finish`. `moment` is the present, where the caller
  /// has just read the clock.
  func granted(_ ticket: Ticket, at moment: Deadline?)

  /// Its caller was held because too many waited, and may go on.
  func admitted()

  /// It was taken out of the queue and will never run: the gate closes, or another one takes its place.
  func turnedAway(_ code: DispatchError.Code)

  /// Its end-point or one of its scopes sleeps, for the reason that is given: it ends if it would have to within that time, or
  /// if the end-point was given up.
  func sleeps(_ reason: WaitReason, isGivenUp: Bool)

  /// It has to end soon, whether it waits or runs: the gate closes at once, or somebody cancels all of its kind.
  func asked(toEndBecause error: DispatchError)
}

extension Scheduler.Refusal {
  /// The error that the caller of a refused submission gets.
  func error(at endPoint: EndPoint, waited: Duration = .zero) -> DispatchError {
    let (code, reason): (DispatchError.Code, WaitReason?) =
      switch self {
      case .queueFull: (.refused, nil)
      case .longLaneFull: (.longLaneFull, nil)
      case .shutDown: (.shutDown, nil)
      case .tooHeavy(let reason): (.tooHeavy, reason)
      case .paused(let reason): (.pausedUntil, reason)
      case .unreachable(let reason): (.unreachable, reason)
      }
    return DispatchError(code, endPoint: endPoint, waited: waited, waitReason: reason)
  }
}
