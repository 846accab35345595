/// What the outcome of a contest looks like to its caller, and which successes that consists of.
struct ContestShape<Success: Sendable, Failure: Error, Output: Sendable>: Sendable {
  let output: @Sendable (ContestOutcome<Success, Failure>, ContestTitle) -> Result<Output, FlowError<Failure>>
  let successes: @Sendable (Output) -> [Success]
}

extension ContestShape where Output == Success {
  /// One success.
  static var winner: ContestShape {
    ContestShape { outcome, title in
      switch outcome {
      case .winner(_, let value): .success(value)
      case .failure(let failure): .failure(title.error(failure))
      case .values, .ends: .failure(title.error(.noInput))
      }
    } successes: {
      [$0]
    }
  }
}

extension ContestShape where Output == [Success] {
  /// Successes in the order of the inputs.
  static var values: ContestShape {
    ContestShape { outcome, title in
      switch outcome {
      case .values(let values): .success(values)
      case .failure(let failure): .failure(title.error(failure))
      case .winner, .ends: .failure(title.error(.noInput))
      }
    } successes: {
      $0
    }
  }
}

extension ContestShape where Output == [Result<Success, FlowError<Failure>>] {
  /// How each ended, in the order of the inputs.
  static var ends: ContestShape {
    ContestShape { outcome, title in
      switch outcome {
      case .ends(let ends, let code): .success(results(ends, code ?? .cancelled, title))
      case .failure(let failure): .failure(title.error(failure))
      case .winner, .values: .failure(title.error(.noInput))
      }
    } successes: { results in
      results.compactMap { try? $0.get() }
    }
  }

  private static func results(
    _ ends: [ContestEnd<Success, Failure>?], _ code: FlowErrorCode, _ title: ContestTitle
  ) -> [Result<Success, FlowError<Failure>>] {
    ends.enumerated().map { index, end in
      switch end {
      case .success(let value): .success(value)
      case .failure(let failure):
        .failure(
          title.error(ContestFailure(code: .failed, failures: [failure], inputs: [index], deciding: 0)))
      case .missing(let code): .failure(title.error(code))
      case nil: .failure(title.error(code))
      }
    }
  }
}
