// Fixed numbers of callback functions with different results, as one callback function.

import HeadgateThreads

/// Callback functions with different results as one, which answers with all results, or the first failure. Otherwise as
/// the form for arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided.
///   - function: What to call.
/// - Returns: The callback function.
public func allSucceed<each Success: Sendable, Failure: Error>(
  losers: Losers = .join, _ function: repeat @escaping CallbackFunction<each Success, Failure>
) -> CallbackFunction<(repeat each Success), FlowError<Failure>> {
  { completion in
    let slots = (repeat FixedSlot<each Success>())
    var functions: [CallbackFunction<Void, Failure>] = []
    repeat functions.append((each slots).filled(by: each function))
    let contest = allSucceed(losers: losers, functions)
    contest(
      completion.decided { (_: [Void]) throws(FlowError<Failure>) in
        (repeat try (each slots).value(Failure.self))
      } close: {
        repeat (each slots).close()
      })
  }
}

/// Callback functions with different results as one, which answers with how each of them ended. Otherwise as the form for
/// arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is cancelled.
///   - function: What to call.
/// - Returns: The callback function.
public func allSettled<each Success: Sendable, Failure: Error>(
  losers: Losers = .join, _ function: repeat @escaping CallbackFunction<each Success, Failure>
) -> CallbackFunction<(repeat Result<each Success, FlowError<Failure>>), FlowError<Failure>> {
  { completion in
    let slots = (repeat FixedSlot<each Success>())
    var functions: [CallbackFunction<Void, Failure>] = []
    repeat functions.append((each slots).filled(by: each function))
    let contest = allSettled(losers: losers, functions)
    contest(
      completion.decided { (results: [Result<Void, FlowError<Failure>>]) throws(FlowError<Failure>) in
        var ends = results.makeIterator()
        return (repeat (each slots).result(ends.next()))
      } close: {
        repeat (each slots).close()
      })
  }
}

/// Callback functions with different results as one, which answers with the first success at its place in the tuple, nil at
/// the others. Otherwise as the form for arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided.
///   - function: What to call.
/// - Returns: The callback function.
public func firstToSucceed<each Success: Sendable, Failure: Error>(
  losers: Losers = .join, _ function: repeat @escaping CallbackFunction<each Success, Failure>
) -> CallbackFunction<(repeat (each Success)?), FlowError<Failure>> {
  winners({ firstToSucceed(losers: losers, $0) }, { [$0] }, repeat each function)
}

/// Callback functions with different results as one: the first to end decides, and its result stands at its place in the
/// tuple, nil at the others. Otherwise as the form for arrays.
///
/// - Parameters:
///   - losers: What becomes of those that still run when it is decided.
///   - function: What to call.
/// - Returns: The callback function.
public func race<each Success: Sendable, Failure: Error>(
  losers: Losers = .join, _ function: repeat @escaping CallbackFunction<each Success, Failure>
) -> CallbackFunction<(repeat (each Success)?), FlowError<Failure>> {
  winners({ race(losers: losers, $0) }, { [$0] }, repeat each function)
}

/// Callback functions with different results as one, which answers when so many have succeeded: their results stand at
/// their places in the tuple, nil at the others. Otherwise as the form for arrays.
///
/// - Parameters:
///   - needed: How many successes are needed: 0 to the number of functions.
///   - losers: What becomes of those that still run when it is decided.
///   - function: What to call.
/// - Returns: The callback function.
public func quorum<each Success: Sendable, Failure: Error>(
  _ needed: Int, losers: Losers = .join, _ function: repeat @escaping CallbackFunction<each Success, Failure>
) -> CallbackFunction<(repeat (each Success)?), FlowError<Failure>> {
  winners({ quorum(needed, of: $0, losers: losers) }, { $0 }, repeat each function)
}

/// What firstToSucceed, race and quorum share: a contest of the functions' numbers, which answers with what the winners
/// returned, each at its place.
private func winners<each Success: Sendable, Failure: Error, Decision: Sendable>(
  _ contest: @escaping @Sendable ([CallbackFunction<Int, Failure>]) -> CallbackFunction<Decision, FlowError<Failure>>,
  _ numbers: @escaping @Sendable (Decision) -> [Int],
  _ function: repeat @escaping CallbackFunction<each Success, Failure>
) -> CallbackFunction<(repeat (each Success)?), FlowError<Failure>> {
  { completion in
    let slots = (repeat FixedSlot<each Success>())
    var functions: [CallbackFunction<Int, Failure>] = []
    repeat functions.append((each slots).filled(by: each function, number: functions.count))
    contest(functions)(
      completion.decided { (decision: Decision) throws(FlowError<Failure>) in
        var places = FixedPlaces(winners: numbers(decision))
        return (repeat (each slots).value(at: &places))
      } close: {
        repeat (each slots).close()
      })
  }
}

extension Completion {
  /// A completion for a contest beneath, whose result is made of slots, which are closed at its end.
  fileprivate func decided<Decision: Sendable>(
    _ result: @escaping @Sendable (Decision) throws(Failure) -> Success, close: @escaping @Sendable () -> Void
  ) -> Completion<Decision, Failure> {
    beneath { (end: CallEnd<Decision, Failure>) in
      defer { close() }
      switch end {
      case .success(let decision):
        do throws(Failure) { return .success(try result(decision)) } catch { return .failure(error) }
      case .failure(let failure): return .failure(failure)
      case .missing(let code, let error): return .missing(code, error)
      }
    }
  }
}
