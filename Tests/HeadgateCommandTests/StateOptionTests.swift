import ArgumentParser
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// What runs keep for later ones.
@Suite struct StateOptionTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `The folder is the user's, unless another one or none is named`() throws {
    func place(_ environment: [String: String]) -> StatePlace? {
      .usual({ environment[$0] }, isOwn: { $0.hasPrefix("/") && $0 != "/of/another" })
    }
    #expect(place(["HOME": "/home/me"]) == StatePlace(folder: "/home/me/.local/state/headgate", isChosen: false))
    #expect(place(["HOME": "/home/me", "XDG_STATE_HOME": "/s"])?.folder == "/s/headgate")
    #expect(place(["HOME": "/home/me", "XDG_STATE_HOME": "relative"])?.folder == "/home/me/.local/state/headgate")
    #expect(place([:]) == nil && place(["HOME": ""]) == nil && place(["HOME": "/of/another"]) == nil)
    #expect(try FetchCommand.parse(["--retry-after", "cap:1", "http://a/"]).options().state == nil)
    let named = try FetchCommand.parse(["--state", "own", "http://a/"]).options()
    #expect(named.state == StatePlace(folder: "own", isChosen: true))
    #expect(try FetchCommand.parse(["--no-state", "http://a/"]).options().state == nil)
    #expect(throws: (any Error).self) { try FetchCommand.parse(["--state", "own", "--no-state", "http://a/"]) }
  }

  @Test func `Without a folder of the user's, the value that is not used is named, with the reason`() throws {
    try folder.write("", to: "file")
    func reason(_ environment: [String: String]) -> String { StatePlace.whyNotUsual { environment[$0] } }
    let missing = folder.file("missing")
    #expect(reason(["HOME": "/", "XDG_STATE_HOME": missing]) == "XDG_STATE_HOME is \(missing), which does not exist")
    #expect(reason(["HOME": missing]) == "HOME is \(missing), which does not exist")
    #expect(reason(["HOME": folder.file("file")]) == "HOME is \(folder.file("file")), which is not a folder")
    #expect(reason(["HOME": "/"]) == "HOME is /, which belongs to another user")
    for none in [[:], ["HOME": "", "XDG_STATE_HOME": "relative"]] {
      #expect(reason(none) == "neither XDG_STATE_HOME nor HOME is set to an absolute path")
    }
  }

  @Test func `A host that has asked for hours is not asked again by a later run, until it is forgotten`() async throws {
    let requests = Locked(0)
    let origin = try Origin(
      script: OriginScript(handler: { request in
        let isFirst = requests.withLock { count in
          count += 1
          return count == 1
        }
        guard isFirst else { return .text("in") }
        var answer = OriginAnswer.text("busy", status: 429)
        answer.headers = [OriginHeader("Retry-After", "22680")]
        return answer
      }))
    func run() async throws -> Fetched {
      let arguments = [origin.url("/a"), "-P", "@/out", "--overwrite", "--retry", "3", "--log", "@/log"]
      let trial = try FetchTrial(arguments, in: folder, state: folder.file("state"))
      let fetched = await trial.finish()
      try folder.write("", to: "log")
      return fetched
    }
    #expect(try await run().status == 75)
    let second = try await run()
    #expect(second.status == 75 && second.messages.contains("refused requests"), "\(second.messages)")
    #expect(requests.withLock { $0 } == 1)
    let state = GateState(folder: folder.file("state"), keepsLoopback: true)
    let entry = try #require(try state.entries().first)
    #expect(try entry.endPoint == EndPoint(origin.url("/")).description && entry.facts.count == 1)
    #expect(entry.facts[0].hasPrefix("paused for 6 h ") && entry.facts[0].hasSuffix(" by 429"), "\(entry.facts)")
    #expect(try state.clear(HostPattern("other.example")) == 0)
    #expect(try state.clear(HostPattern("*")) == 1)
    #expect(try state.entries().isEmpty)
    #expect(try await run().status == 0)
  }

  @Test func `A folder that can't be used is reported once, and the run goes on`() async throws {
    try folder.write("", to: "file")
    let origin = try Origin(
      script: OriginScript(handler: { _ in
        var answer = OriginAnswer.text("busy", status: 429)
        answer.headers = [OriginHeader("Retry-After", "1")]
        return answer
      }))
    let trial = try FetchTrial(
      [origin.url("/a"), origin.url("/b"), "-P", "@/out"], in: folder, state: folder.file("file"))
    let fetched = await trial.finish()
    #expect(fetched.status == 8)
    let remarks = fetched.lines.filter { $0.contains("is not kept for later runs") }
    #expect(remarks.count == 1, "\(fetched.messages)")
  }
}
