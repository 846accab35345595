// The other driver: a contest of callback functions. It serves the blocking forms, the callback forms and the async ones
// that abandon their losers.
//
// Effects run in loops: a function may answer inside its own start, and a hundred thousand that do so one after another
// need the stack of one.

import CHeadgate
import HeadgateThreads

/// A contest of callback functions under way.
final class CallbackContest<Success: Sendable, Failure: Error>: Sendable {
  typealias Call = CallbackCall<Success, Failure>
  typealias Slots = ContestSlots<Success, Failure>

  /// What it is about.
  struct Terms: Sendable {
    let losers: Losers
    let duties: ThreadDuties?
    let matches: (@Sendable (Success) -> Bool)?
    let discard: (@Sendable (Success) -> Void)?
    /// Calls a function, by its number.
    let call: @Sendable (Int, Completion<Success, Failure>) -> Void
  }

  /// What hears of the outcome, once.
  struct Listener: Sendable {
    let conclude: @Sendable (ContestOutcome, Slots) -> Void
  }

  private struct State {
    var contest: Contest
    /// What runs, by number.
    var calls: [Call?]
    /// The threads that are in the loop of starts: what ends inside of one leaves the next start to it.
    var starters: [UInt] = []
    /// Until the outcome is given.
    var listener: Listener?
  }

  /// What a decision calls for, with no lock held.
  private struct Effects {
    var ended: Call?
    /// Whose slot nobody needs.
    var unneeded: (Int, ContestEnd)?
    var losers: [Call] = []
    var conclusion: (listener: Listener, outcome: ContestOutcome)?
  }

  private let state: Locked<State>
  private let slots: Slots
  private let terms: Terms

  init(_ contest: Contest, _ terms: Terms, listener: Listener) {
    state = Locked(State(contest: contest, calls: Array(repeating: nil, count: contest.count), listener: listener))
    slots = Slots(count: contest.count)
    self.terms = terms
  }

  deinit { slots.deallocate() }

  /// Starts what may start; concludes if there is nothing to start. Once.
  func run() {
    decide { _, _ in }
    advance()
  }

  /// It is ended from outside. A deadline, or losers to be abandoned, mean that the outcome is given here and now;
  /// else it is given when all that runs has ended.
  func cancel(_ code: FlowErrorCode) {
    decide(lets: code == .timedOut) { state, _ in state.contest.cancel(code) }
  }

  // MARK: Starts

  private func advance() {
    let thread = headgate_thread_number()
    var isInside = false
    while let (index, call) = next(for: thread, &isInside) { terms.call(index, Completion(call)) }
  }

  /// The next to start on this thread. Nil: there is none, or this thread is inside of a start, whose loop goes on.
  private func next(for thread: UInt, _ isInside: inout Bool) -> (Int, Call)? {
    let wasInside = isInside
    let next = state.withLock { state -> (Int, Call)? in
      guard wasInside || !state.starters.contains(thread) else { return nil }
      guard let index = state.contest.start() else {
        state.starters.removeAll { $0 == thread }
        return nil
      }
      if !wasInside { state.starters.append(thread) }
      let call = Call(duties: terms.duties, discard: terms.discard) { [self] end in
        self.end(index, end)
        return true
      }
      state.calls[index] = call
      return (index, call)
    }
    isInside = next != nil
    return next
  }

  // MARK: Ends

  private func end(_ index: Int, _ end: CallEnd<Success, Failure>) {
    var isMatch = true
    var missing: FlowErrorCode?
    let how: ContestEnd
    switch end {
    case .success(let value):
      slots.putSuccess(value, at: index)
      if let matches = terms.matches { isMatch = matches(value) }
      how = .success
    case .failure(let failure):
      slots.putFailure(failure, at: index)
      how = .failure
    case .missing(let code, _):
      missing = code
      how = .missing
    }
    // A thread waits for all of them, and this one needs it: none can be waited for.
    let refusal = missing == .wouldDeadlock ? missing : nil
    decide(lets: refusal != nil) { [isMatch, missing] state, effects in
      if let refusal { state.contest.cancel(refusal) }
      // None: the losers were given up, this one among them.
      effects.ended = state.calls.isEmpty ? nil : state.calls[index].take()
      let isKept =
        effects.ended != nil && state.contest.end(index, how, code: missing, matches: isMatch)
      if !isKept { effects.unneeded = (index, how) }
    }
    advance()
  }

  /// Takes in an event under the lock, and does after it what that calls for.
  private func decide(lets letsGo: Bool = false, _ event: (inout State, inout Effects) -> Void) {
    let abandons = letsGo || terms.losers == .abandon
    let effects = state.withLock { state in
      var effects = Effects()
      let wasSettled = state.contest.isSettled
      event(&state, &effects)
      let mustEnd = state.contest.isSettled && abandons
      if mustEnd || state.contest.isSettled && !wasSettled { effects.losers = state.calls.compactMap { $0 } }
      if mustEnd || state.contest.isOver, let listener = state.listener.take() {
        effects.conclusion = (listener, state.contest.conclude())
        state.calls = []
      }
      return effects
    }
    if let (index, end) = effects.unneeded { slots.drop(index, end, terms.discard) }
    effects.conclusion?.outcome.forEachLeftover { slots.drop($0, $1, terms.discard) }
    for loser in effects.losers { loser.cancel(letsGo ? .timedOut : .cancelled) }
    if abandons { for loser in effects.losers { loser.giveUp() } }
    if let (listener, outcome) = effects.conclusion { listener.conclude(outcome, slots) }
  }
}
