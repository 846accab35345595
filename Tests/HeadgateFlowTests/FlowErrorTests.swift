import Testing

@testable import HeadgateFlow

/// The one error.
@Suite struct FlowErrorTests {
  @Test("It has the operation, what ended it, the failures, the duration, and advice")
  func descriptions() {
    let some = FlowError(
      .allFailed, failures: [Oops(number: 1), Oops(number: 2)], inputs: [0, 3], operation: "firstToSucceed of 4",
      waited: .milliseconds(1500))
    #expect(
      some.description
        == "firstToSucceed of 4: all failed after 1.5 s; see the failures (0: Oops(number: 1); 3: Oops(number: 2))")
    let one = FlowError(.failed, failures: [Oops(number: 1)], deciding: 0, operation: "sendChunks", offset: 9)
    #expect(one.description == "sendChunks: it failed at byte 9 after 0 ms; see the failure (Oops(number: 1))")
    let none = FlowError(.timedOut, operation: "race of 2")
    #expect(none.description.hasPrefix("race of 2: the deadline passed after 0 ms; "))
    let many = FlowError(
      .allFailed, failures: (0..<9).map { Oops(number: $0) }, operation: "firstToSucceed of 9")
    #expect(many.description.contains("4: Oops(number: 4); and 4 more)"))
    let cause = FlowError(.sourceFailed, operation: "x", underlyingError: Oops(number: 7))
    #expect(cause.description.hasSuffix("its source failed after 0 ms; see the underlying error (Oops(number: 7))"))
  }

  @Test("Codes are equal by name, and each name is unique")
  func codes() {
    let codes: [FlowError.Code] = [
      .failed, .allFailed, .quorumMissed, .completionReleased, .timedOut, .noInput, .invalidArgument,
      .attemptsExhausted,
      .budgetExhausted, .sourceFailed, .sourceShrank, .undeliverable,
    ]
    #expect(Set(codes).count == codes.count)
    #expect(FlowError.Code.failed == .failed && FlowError.Code.failed != .allFailed)
  }
}
