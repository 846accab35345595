import Foundation
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Runs that end after some failures.
@Suite struct FetchMaxFailuresTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  private func list(_ paths: [String]) -> String { paths.map { origin.url($0) + "\n" }.joined() }

  @Test(arguments: [[], ["-P", "@/out"], ["-P", "@/out", "--session", "@/run"]])
  func `After a number of failures nothing new starts, and the rest is counted`(target: [String]) async throws {
    // On the standard output and in a session each URL is sent by a separate task, so that any may overtake another.
    let isInOrder = target == ["-P", "@/out"]
    let urls = list(
      ["/bytes/3000"] + (0..<3).map { "/status/500?\($0)" } + [isInOrder ? "/hold" : "/bytes/2035"]
        + (0..<2_035).map { "/bytes/\($0)" })
    try folder.write(urls, to: "list")
    let arguments = ["-i", "@/list", "--max-failures", "3", "--per-host", "1", "--log", "@/log"] + target
    let messages = try MessagePipe()
    let trial = try FetchTrial(arguments, in: folder, messages: messages.writer)
    async let finished = trial.finish()
    let message = try #require(try await messages.lines { $0.contains("--max-failures") }.last)
    // One request may be running now, and may not have arrived yet.
    let received = origin.counts().received
    if isInOrder {
      // It is the one after the third failure, and was held until the message was there.
      origin.setScript(OriginScript(handler: { _ in .text("x") }))
      origin.release()
    }
    let last = try #require(try await messages.rest().last)
    let status = await finished.status
    #expect(status == 8)
    #expect(
      message.hasPrefix(
        "headgate: 3 failed, and --max-failures is 3: running requests are finished, and the rest is skipped"))
    #expect(message.contains("the same command continues the session") == target.contains("--session"))
    #expect((received...received + 1).contains(origin.counts().received))
    let succeeded = origin.counts().received - 3
    if isInOrder { #expect((1...2).contains(succeeded)) }
    #expect(last.hasPrefix("ok \(succeeded)  failed 3  skipped \(2_037 - succeeded)  "), "\(last)")
    guard target.contains("--session") else { return }
    // The failed ones are requested again, and the others for the first time.
    origin.setScript(OriginScript(handler: { _ in .text("x") }))
    let rest = await (try FetchTrial(["-i", "@/list"] + target, in: folder)).finish()
    #expect(
      rest.status == 0 && rest.messages.contains("ok \(2_040 - succeeded)  failed 0  done before \(succeeded)  "),
      "\(rest.messages)")
  }

  @Test func `Running requests are finished`() async throws {
    let urls = [origin.url("/delay/300"), origin.url("/status/404"), origin.url("/delay/300?2")]
    let fetched = await (try FetchTrial(urls + ["--max-failures", "1", "--per-host", "2", "-P", "@/out"], in: folder))
      .finish()
    #expect(fetched.status == 8)
    #expect(folder.names(in: "out").contains("300"))
    let counted = try #require(fetched.lines.last)
    #expect(counted.hasPrefix("ok 1  failed 1  skipped 1") || counted.hasPrefix("ok 2  failed 1  bytes"))
  }

  @Test func `Invalid lines count, fewer failures have no effect, and the message appears even with -q`() async throws {
    let bad = try await fetch(
      "-i", "-", "--max-failures", "2", "-q", "-P", "@/out", in: folder, input: "nope\nnope\n" + list(["/bytes/1"]))
    #expect(bad.status == 2 && bad.messages.contains("2 failed, and --max-failures is 2"))
    #expect(folder.names(in: "out").isEmpty)
    let few = try await fetch(
      "-i", "-", "--max-failures", "3", "-P", "@/out", in: folder, input: "nope\nnope\n" + list(["/bytes/1"]))
    #expect(
      few.status == 2 && few.messages.contains("ok 1  failed 2  bytes") && !few.messages.contains("--max-failures"))
  }
}
