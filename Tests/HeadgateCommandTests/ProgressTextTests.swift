import ArgumentParser
import Foundation
import Testing

@testable import HeadgateCommand

@Suite struct ProgressTextTests {
  @Test func `The plain line and the object have the same contents`() throws {
    var state = ProgressState(done: 12, running: 4, queued: 30, bytes: 2048, seconds: 3)
    #expect(state.plain == "12 done  running 4  queued 30  2.0 KiB")
    state.total = 1046
    state.failed = 2
    state.rate = 4
    state.rows = [
      ProgressState.Row(name: "a:80", waiting: 7, reason: "paused 1.4 s by 503", isPaused: true),
      ProgressState.Row(name: "b:80", waiting: 7),
    ]
    #expect(
      state.plain
        == "12/1,046 done (1 %)  4.0/s  4 min 19 s left  running 4  queued 30  failed 2  2.0 KiB  paused 1 (a:80: paused 1.4 s by 503)"
    )
    let object = try JSONSerialization.jsonObject(with: Data(state.json.utf8)) as? [String: Any]
    #expect(object?["event"] as? String == "progress")
    #expect(object?["done"] as? Int == 12)
    #expect(object?["seconds_left"] as? Double == 258.5)
    #expect(((object?["paused"] as? [[String: Any]])?.first)?["reason"] as? String == "paused 1.4 s by 503")
  }

  @Test func `A hundred percent is shown only at the end`() {
    #expect(ProgressState(done: 9_999, total: 10_000).share == "99 %")
    #expect(ProgressState(done: 10_000, total: 10_000).share == "100 %")
    #expect(ProgressState(done: 0, total: 0).share == nil)
    #expect(ProgressState(done: 5).left == nil)
  }

  @Test func `The rate is that of the last seconds`() {
    var rate = ProgressRate()
    rate.add(0, at: 0)
    rate.add(5, at: 0.5)
    #expect(rate.value == nil)
    rate.add(10, at: 1)
    #expect(rate.value == 10)
    for second in 2...100 { rate.add(10 * second, at: Double(second)) }
    #expect(rate.value == 10)
    // Nothing ends any more.
    for second in 101...130 { rate.add(1000, at: Double(second)) }
    #expect(rate.value == 0)
    #expect(ProgressState(done: 1, total: 2, rate: 0).left == nil)
  }

  @Test(arguments: [
    (ProgressMode.Stream(isTerminal: true, terminal: "xterm"), ProgressMode.full),
    (.init(isTerminal: true, terminal: "dumb"), .plain), (.init(isTerminal: true, terminal: nil), .plain),
    (.init(isTerminal: false, terminal: "xterm"), .plain),
    (.init(isTerminal: true, terminal: "xterm", hasBodies: true), .none),
    (.init(isTerminal: true, terminal: "xterm", isQuiet: true), .none), (.init(isQuiet: true), .none),
  ])
  func `D129 the form of progress depends on the stream`(_ stream: ProgressMode.Stream, _ mode: ProgressMode) {
    #expect(ProgressMode.auto.resolved(for: stream) == mode)
    for asked in ProgressMode.allCases where asked != .auto { #expect(asked.resolved(for: stream) == asked) }
  }

  @Test func `-q can't be combined with a form of progress`() throws {
    #expect(throws: (any Error).self) { try FetchCommand.parse(["http://a/", "-q", "--progress", "full"]) }
    #expect(throws: (any Error).self) { try FetchCommand.parse(["http://a/", "--progress", "fancy"]) }
    #expect(try FetchCommand.parse(["http://a/", "-q", "--progress=none"]).options().progress == ProgressMode.none)
  }

  @Test func `A list is counted in the same way as it is read`() throws {
    let folder = try TemporaryFolder()
    try folder.write("http://a/1\n\n# comment\nbad line\nhttp://a/2", to: "list")
    #expect(ListCount.of(folder.file("list"), while: { true }) == 3)
    #expect(ListCount.of(folder.file("list"), while: { false }) == nil)
    #expect(ListCount.of(folder.file("none"), while: { true }) == nil)
    #expect(ListCount.of("/dev/null", while: { true }) == nil)
  }
}
