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

  /// It has to end soon, whether it waits or runs: the gate closes at once, or somebody cancels all of its kind.
  func asked(toEndBecause error: DispatchError)
}
