import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Hosts that refuse for longer than a run waits.
@Suite struct FetchRefusingTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Refuses paths that begin with `/busy` until it is told to serve, and serves everything else.
  private func busy(until isServing: LockedBox<Bool>, asking wait: String) throws -> Origin {
    try Origin(
      script:
        OriginScript(handler: { request in
          guard request.path.hasPrefix("/busy"), !isServing.withLock({ $0 }) else { return .text(request.path) }
          var answer = OriginAnswer.text("busy", status: 429)
          answer.headers = [OriginHeader("Retry-After", wait)]
          return answer
        }))
  }

  @Test func `A host that asks for hours ends at once with its own status, and the next run fetches the rest`()
    async throws
  {
    let isServing = LockedBox(false)
    let (refusing, other) = (try busy(until: isServing, asking: "22680"), try busy(until: isServing, asking: "1"))
    let arguments = [
      refusing.url("/busy1"), refusing.url("/busy2"), other.url("/b"), "-P", "@/out", "--session", "@/run", "--retry",
      "3",
      "--per-host", "1", "--log", "@/log",
    ]
    let first = try await FetchTrial(arguments, in: folder).finish()
    #expect(first.status == 75, "\(first.messages)")
    #expect(first.messages.contains("its end-point refused requests while it waited for a permit"))
    // The rest of the pause: a little less than what the server asked for.
    #expect(first.messages.contains("; try again in 6 h 1"), "\(first.messages)")
    #expect(first.count("ok") == 1 && first.count("failed") == 2 && first.count("refusing") == 2)
    #expect(first.records.map(\.error).filter { $0 == "refusing" }.count == 2 && refusing.counts().received == 1)
    isServing.withLock { $0 = true }
    let second = try await FetchTrial(arguments, in: folder).finish()
    #expect(second.status == 0 && second.count("ok") == 2 && second.count("done before") == 1, "\(second.messages)")
  }

  @Test func `Beside another failure, a refusing host does not decide the status`() async throws {
    let refusing = try busy(until: LockedBox(false), asking: "22680")
    let other = try Origin()
    let fetched = try await fetch(
      refusing.url("/busy"), other.url("/status/404"), "--retry", "3", "-P", "@/out", in: folder)
    #expect(fetched.status == 8, "\(fetched.messages)")
  }

  @Test func `A row of a refusing host has no result, and the next run sends it`() async throws {
    let isServing = LockedBox(false)
    let refusing = try busy(until: isServing, asking: "22680")
    let arguments = [
      "-i", "-", "--url", refusing.url("/busy"), "--json", "{\"n\":{n}}", "--retry", "3", "--session", "@/run", "-o",
      "@/results", "--per-host", "1",
    ]
    let rows = "{\"n\":1}\n{\"n\":2}\n"
    let first = try await CallTrial(arguments, in: folder, input: rows).finish()
    #expect(first.status == 75 && first.results.isEmpty, "\(first.messages)")
    #expect(first.messages.contains("failed 2") && first.messages.contains("refusing 2"))
    isServing.withLock { $0 = true }
    let second = try await CallTrial(arguments, in: folder, input: rows).finish()
    #expect(second.status == 0 && second.results.count == 2, "\(first.messages) \(second.messages)")
    #expect(refusing.counts().received == 3)
  }
}
