import Testing

@testable import HeadgateDispatch

/// The meaning of responses to a request for the rest of a body.
@Suite struct RangeAnswerTests {
  private func answer(_ status: Int, _ range: String? = nil, tag: String? = nil, after offset: Int? = 5) -> RangeAnswer
  {
    RangeAnswer(status: status, contentRange: range, tag: tag, after: offset, of: "\"x\"")
  }

  @Test func `The rest is accepted if it begins at the right byte and has the same version`() {
    #expect(answer(206, "bytes 5-9/10") == .rest(total: 10))
    #expect(answer(206, "Bytes 5-9/10", tag: "\"x\"") == .rest(total: 10))
    #expect(answer(206, "bytes 5-9/10", tag: "\"y\"") == .unusable)
    for range in [
      nil, "bytes 4-9/10", "bytes 5-9/*", "bytes 5-9/9", "bytes 5-4/10", "bytes 5-", "bytes */10", "items 5-9/10",
      "bytes 5-9/10/11",
      "bytes 5--9/10",
    ] {
      #expect(answer(206, range) == .unusable, "\(range ?? "none")")
    }
  }

  @Test func `A complete file and status 416 is done`() {
    #expect(answer(416, "bytes */5") == .complete)
    #expect(answer(416, "bytes */5", tag: "\"y\"") == .unusable)
    #expect(answer(416, "bytes */6") == .unusable)
    #expect(answer(416) == .unusable)
    #expect(answer(416, "bytes */5", after: nil) == .refused)
  }

  @Test func `A complete body replaces a partial one of another version`() {
    #expect(answer(200) == .all)
    #expect(answer(200, after: nil) == .all)
    #expect(answer(204, after: nil) == .all)
    #expect(answer(200, "bytes 0-9/10", after: nil) == .all)
  }

  @Test func `C01 C02 A part with the status of a whole body is none, and a refused range is asked for as a whole`() {
    #expect(answer(200, "bytes 5-9/10") == .unusable)
    #expect(answer(200, "bytes 5-9/10", after: nil) == .refused)
    #expect(answer(200, "bytes 0-4/10", after: nil) == .refused)
    for status in [400, 403, 412] {
      #expect(answer(status) == .unusable)
      #expect(answer(status, after: nil) == .refused)
    }
  }

  @Test func `A range that was not requested is refused`() {
    #expect(answer(206, "bytes 0-9/10", after: nil) == .refused)
    #expect(answer(304, after: nil) == .unchanged)
    #expect(answer(304) == .refused)
    #expect(answer(404) == .refused)
    #expect(answer(500, after: nil) == .refused)
  }
}
