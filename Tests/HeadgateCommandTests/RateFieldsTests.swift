import ArgumentParser
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Fields of servers that the options name, and the count of what servers refuse.
@Suite struct RateFieldsTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func fields(_ values: String...) throws -> RateLimitFields {
    try FetchCommand.parse(values.map { "--rate-fields=" + $0 } + ["http://a/"]).options().rateFields
  }

  @Test func `Named fields come before the usual ones, in their order`() throws {
    typealias Wait = RateLimitFields.Wait
    #expect(try fields() == .standard)
    let all = try fields(
      "remaining=x-foo-left,reset=x-foo-reset,unit=s", "wait=X-Backoff,unit=ms",
      "remaining=X-Left, reset=X-In, reset=X-At, limit=X-Most, of=tokens")
    let quotas: [RateLimitFields.Quota] = [
      .init(of: "requests", remaining: "x-foo-left", reset: [Wait("x-foo-reset", numbers: .seconds)]),
      .init(of: "tokens", limit: "X-Most", remaining: "X-Left", reset: [Wait("X-In"), Wait("X-At")]),
    ]
    #expect(all.quotas == quotas + RateLimitFields.standard.quotas)
    #expect(all.waits == [Wait("X-Backoff", numbers: .milliseconds)] + RateLimitFields.standard.waits)
  }

  @Test(
    arguments: [
      ("", "write remaining=FIELD,reset=FIELD,unit=s"), ("X-Left", "write remaining=FIELD"),
      ("remaining=X-Left", "a quota needs both"), ("reset=X-Reset", "a quota needs both"),
      ("unit=s", "a quota needs both"),
      ("remaining=X Left,reset=X-Reset", "\"X Left\" is not the name of a header field"),
      ("remaining=,reset=X-Reset", "\"\" is not the name"), ("remaining=A,remaining=B,reset=C", "give remaining once"),
      ("remaining=A,reset=B,unit=min", "unit is s or ms"), ("remaining=A,reset=B,per=s", "\"per\" is unknown"),
      ("remaining=A,reset=B,unit=s,unit=ms", "give unit once"), ("remaining=A,reset=B,of=", "of= needs a word"),
      ("wait=A,remaining=B,reset=C", "wait is for a wait alone"), ("wait=A,of=tokens", "wait is for a wait alone"),
    ])
  func `What is no description of fields is refused, with what to write`(text: String, says: String) {
    #expect {
      _ = try RateFieldsRule(text)
    } throws: { error in
      "\(error)".contains(says)
    }
  }

  @Test func `A wait in a named field pauses the host, and the last line counts the refusal`() async throws {
    let isFirst = Locked(true)
    let origin = try Origin(
      script: OriginScript(handler: { _ in
        let refuses = isFirst.withLock { first in
          defer { first = false }
          return first
        }
        guard refuses else { return .text("") }
        var answer = OriginAnswer.text("", status: 429)
        answer.headers = [OriginHeader("X-Backoff", "25")]
        return answer
      }))
    let fetched = try await fetch(
      origin.url("/a"), "-P", "@/out", "--retry", "1", "-v", "--rate-fields", "wait=X-Backoff,unit=ms", in: folder)
    #expect(fetched.status == 0 && fetched.messages.contains(" ms by 429"), "\(fetched.messages)")
    #expect(fetched.lines.last?.contains("  refusals 1 (127.0.0.1:\(origin.port))  ") == true, "\(fetched.messages)")
  }

  @Test func `Refusals are counted, with the end-points that refused most`() {
    #expect(Refusals().words == nil && Refusals(3).words == "refusals 3")
    #expect(Refusals(3, at: ["a:80": 3, "b:80": 0]).words == "refusals 3 (a:80)")
    #expect(Refusals(3, at: ["a:80": 2]).words == "refusals 3 (a:80 2)")
    #expect(Refusals(6, at: ["a:80": 1, "c:80": 3, "b:80": 1]).words == "refusals 6 (c:80 3, a:80 1, b:80 1)")
    let many = Dictionary(uniqueKeysWithValues: (1...9).map { ("h\($0):80", $0) })
    #expect(Refusals(45, at: many).words == "refusals 45 (h9:80 9, h8:80 8, h7:80 7, …)")
    var tally = Tally()
    tally.succeed()
    #expect(
      tally.summary(seconds: 1, peak: 2, refusals: Refusals(2, at: ["a:80": 2]))
        == "ok 1  failed 0  refusals 2 (a:80)  bytes 0 B  1.00 s  peak 2/host")
  }
}
