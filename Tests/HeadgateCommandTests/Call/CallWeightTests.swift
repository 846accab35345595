import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// The weights of rows.
@Suite struct CallWeightTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  @Test func `A row that is heavier than the budget is an error that names it`() async throws {
    let called = try await call(
      "-i", "-", "--url", origin.url("/"), "--weight", "tokens=100/min", in: folder,
      input: "{\"tokens\":101}\n{\"tokens\":60}\n{\"x\":1}\n")
    #expect(try called.column("error") == ["\"too_heavy\"", "null", "\"missing_field\""])
    #expect(try called.column("message")[0].contains("tokens per min"))
    #expect(called.status == 2)
  }

  @Test func `Rows beyond the budget wait, and the weight in a response frees unused units`() async throws {
    var answer = OriginAnswer.text("{\"usage\":{\"total\":1}}")
    answer.headers = [OriginHeader("Content-Type", "application/json")]
    let settled = answer
    origin.setScript(OriginScript(handler: { _ in settled }))
    let input = (0..<5).map { "{\"tokens\":60,\"n\":\($0)}\n" }.joined()
    let weights = ["-i", "-", "--url", origin.url("/"), "--weight", "tokens=100/h", "--weight", "tokens=1000/d"]
    // After the correction, all of them fit in one hour; otherwise the second would wait for most of it.
    let fast = try await CallTrial(weights + ["--settle", ".usage.total"], in: folder, input: input).finish()
    #expect(fast.status == 0 && fast.last.hasPrefix("ok 5  failed 0  "))
    let slow = try await CallTrial(weights + ["--deadline", "10"], in: folder, input: input).finish()
    #expect(slow.status == 6 && slow.last.hasPrefix("ok 1  failed 0  skipped 4  "))
    #expect(slow.results.count == 1)
  }
}
