import HeadgateThreads

/// The result of one function among several with different types.
final class FixedSlot<Success: Sendable>: Sendable {
  private let content = Locked<Success?>(nil)

  private func fill(_ value: Success) {
    // What was there leaves the lock before it is let go.
    let old = content.withLock { content -> Success? in
      defer { content = value }
      return content
    }
    _ = consume old
  }

  /// The result; after its function has succeeded.
  func value<Failure: Error>(_ failure: Failure.Type) throws(FlowError<Failure>) -> Success {
    guard let value = content.withLock({ $0 }) else { throw FlowError(.unanswered, operation: "a function") }
    return value
  }

  /// The result if this is the winner's place.
  func value(at places: inout FixedPlaces) -> Success? { places.isNextTheWinner() ? content.withLock { $0 } : nil }

  func result<Failure: Error>(_ end: Result<Void, FlowError<Failure>>?) -> Result<Success, FlowError<Failure>> {
    Result { () throws(FlowError<Failure>) in
      _ = try end?.get()
      return try value(Failure.self)
    }
  }

  // MARK: Functions that fill it

  func filled<Failure: Error>(
    by function: @escaping @Sendable () async throws(Failure) -> Success, number: Int
  ) -> @Sendable () async throws(Failure) -> Int {
    { () async throws(Failure) in
      self.fill(try await function())
      return number
    }
  }

  func filled<Failure: Error>(
    by function: @escaping @Sendable () async throws(Failure) -> Success
  ) -> @Sendable () async throws(Failure) -> Void {
    { () async throws(Failure) in self.fill(try await function()) }
  }

  func filled<Failure: Error>(
    by function: @escaping CallbackFunction<Success, Failure>, number: Int
  ) -> CallbackFunction<Int, Failure> {
    { completion in
      function(
        completion.mapped {
          self.fill($0); return number
        })
    }
  }

  func filled<Failure: Error>(
    by function: @escaping CallbackFunction<Success, Failure>
  ) -> CallbackFunction<Void, Failure> {
    { completion in function(completion.mapped { self.fill($0) }) }
  }
}

/// Counts the places of a tuple until the winner's.
struct FixedPlaces {
  private let winner: Int
  private var next = 0

  init(winner: Int) { self.winner = winner }

  mutating func isNextTheWinner() -> Bool {
    defer { next += 1 }
    return next == winner
  }
}
