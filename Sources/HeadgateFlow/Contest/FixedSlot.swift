import HeadgateThreads

/// The result of one function among several with different types.
///
/// Closed when the outcome is there: functions that still run hold the slots of all of them, and what stood in one would
/// live as long as they do.
final class FixedSlot<Success: Sendable>: Sendable {
  private struct Content {
    var value: Success?
    var isClosed = false
  }

  private let content = Locked(Content())

  private func fill(_ value: Success) {
    // What was there, or comes too late, is let go of out here.
    let old = content.withLock { content -> Success? in
      guard !content.isClosed else { return nil }
      defer { content.value = value }
      return content.value
    }
    _ = consume old
  }

  private func take() -> Success? { content.withLock { $0.value.take() } }

  /// Lets go of what is there and of what comes.
  func close() {
    let old = content.withLock { content in
      content.isClosed = true
      return content.value.take()
    }
    _ = consume old
  }

  /// The result, once; after its function has succeeded.
  func value<Failure: Error>(_ failure: Failure.Type) throws(FlowError<Failure>) -> Success {
    guard let value = take() else { throw FlowError(.unanswered, operation: "a function") }
    return value
  }

  /// The result, once, if this is the place of a winner.
  func value(at places: inout FixedPlaces) -> Success? { places.isNextAWinner() ? take() : nil }

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

/// Counts the places of a tuple, to tell those of the winners.
struct FixedPlaces {
  private let winners: Set<Int>
  private var next = 0

  init(winners: [Int]) { self.winners = Set(winners) }

  mutating func isNextAWinner() -> Bool {
    defer { next += 1 }
    return winners.contains(next)
  }
}
