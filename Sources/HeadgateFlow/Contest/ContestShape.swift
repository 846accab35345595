import HeadgateThreads

/// What the outcome of a contest looks like to its caller, and which successes that consists of.
struct ContestShape<Success: Sendable, Failure: Error, Output: Sendable>: Sendable {
  typealias Slots = ContestSlots<Success, Failure>

  /// Empties the slots that are a part of the result.
  let output: @Sendable (ContestOutcome, Slots, ContestTitle) throws(FlowError<Failure>) -> Output
  let successes: @Sendable (Output) -> [Success]
}

extension ContestShape where Output == Success {
  /// One success.
  static var winner: ContestShape {
    ContestShape { outcome, slots, title throws(FlowError<Failure>) in
      guard case .winner(let index) = outcome.verdict else { throw slots.error(outcome, title) }
      return slots.takeSuccess(index)
    } successes: {
      [$0]
    }
  }
}

extension ContestShape where Output == [Success] {
  /// Successes in the order of the inputs.
  static var values: ContestShape {
    ContestShape { outcome, slots, title throws(FlowError<Failure>) in
      guard case .values(let count) = outcome.verdict else { throw slots.error(outcome, title) }
      return slots.takeSuccesses(outcome, count)
    } successes: {
      $0
    }
  }
}

extension ContestShape where Output == [Result<Success, FlowError<Failure>>] {
  /// How each ended, in the order of the inputs.
  static var ends: ContestShape {
    ContestShape { outcome, slots, title throws(FlowError<Failure>) in
      guard case .ends(let code) = outcome.verdict else { throw slots.error(outcome, title) }
      return outcome.ends.indices.map { index in
        switch outcome.ends[index] {
        case .success: .success(slots.takeSuccess(index))
        case .failure: .failure(title.error(.failed, [slots.takeFailure(index)], [index], deciding: 0))
        case .missing: .failure(title.error(outcome.codes[index] ?? .cancelled))
        case nil: .failure(title.error(code))
        }
      }
    } successes: { results in
      results.compactMap { try? $0.get() }
    }
  }
}

extension ContestSlots {
  fileprivate func takeSuccesses(_ outcome: ContestOutcome, _ count: Int) -> [Success] {
    Array(unsafeUninitializedCapacity: count) { values, filled in
      for index in outcome.indices(of: .success) {
        values.initializeElement(at: filled, to: takeSuccess(index))
        filled += 1
      }
    }
  }

  /// The error of an outcome without success, with all failures that were kept.
  fileprivate func error(_ outcome: ContestOutcome, _ title: ContestTitle) -> FlowError<Failure> {
    guard case .failure(let code, let decidingIndex) = outcome.verdict else { return title.error(.noInput) }
    let inputs = Array(outcome.indices(of: .failure))
    return title.error(
      code, inputs.map { takeFailure($0) }, inputs, deciding: decidingIndex.flatMap { inputs.firstIndex(of: $0) })
  }
}

/// What a contest is called, and when it began: what its errors say.
struct ContestTitle: Sendable {
  let name: String
  let count: Int
  let start: Deadline

  init(_ name: String, of count: Int, start: Deadline = .now) {
    self.name = name
    self.count = count
    self.start = start
  }

  var operation: String { "\(name) of \(count)" }

  func error<Failure: Error>(
    _ code: FlowErrorCode, _ failures: [Failure] = [], _ inputs: [Int] = [], deciding: Int? = nil
  ) -> FlowError<Failure> {
    FlowError(
      code, failures: failures, inputs: inputs, deciding: deciding, operation: operation, waited: .now - start)
  }
}
