import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// The disk space of bodies that wait for their turn.
@Suite struct HeldSpaceTests {
  @Test func `Space that is taken is returned, and never exceeds the total`() {
    let space = HeldSpace(limit: 10)
    #expect(space.take(6))
    #expect(!space.take(5))
    #expect(space.take(4))
    #expect(!space.take(1))
    space.give(back: 6)
    #expect(space.used == 4)
    #expect(space.take(6))
  }

  @Test func `Bodies share the space, and return it when they are written or released`() throws {
    let space = HeldSpace(limit: 1_000_000)
    let piece = [UInt8](repeating: 7, count: 300_000)
    let first = HeldBody(space)
    for _ in 0..<2 { try first.append(piece) }
    do {
      let second = HeldBody(space)
      try second.append(piece)
      #expect(space.used == 900_000)
      let error = #expect(throws: OutputError.self) { try second.append(piece) }
      #expect(error?.description.contains("--max-held") == true)
      #expect(error?.description.contains("-P DIR") == true)
      // Returned already, for the body that gets this one's permit.
      #expect(space.used == 600_000)
    }
    #expect(space.used == 600_000)
    var count = 0
    try first.empty { block throws(OutputError) in count += block.count }
    #expect(count == 600_000)
    #expect(space.used == 0)
  }

  @Test func `A discarded body returns its space at once`() throws {
    let space = HeldSpace(limit: 1_000_000)
    let body = HeldBody(space)
    try body.append([UInt8](repeating: 7, count: 300_000))
    try body.append([7])
    body.discard()
    #expect(space.used == 0)
    try body.empty { block throws(OutputError) in Issue.record("\(block.count) bytes are left") }
  }

  @Test func `A body beyond the space fails alone, and the others are written in their order`() async throws {
    let origin = try Origin(endPoints: 2)
    let folder = try TemporaryFolder()
    // More than sockets buffer: it is served only once it is cancelled.
    let large = origin.url("/bytes/30000000", endPoint: 1)
    let trial = try FetchTrial(
      [origin.url("/hold"), large, origin.url("/bytes/400000", endPoint: 1), origin.url("/bytes/20", endPoint: 1)]
        + ["--per-host", "1", "--max-held", "1M", "--log", "@/log"],
      in: folder)
    async let ended = trial.finish()
    // Each gets the permit of the one before it, in any order. All have ended before the first turn is over: the large
    // one has failed, and the other one has its space.
    #expect(await origin.waitUntil({ $0.served + $0.aborted == 3 }, endPoint: 1, until: .after(.seconds(60))))
    origin.release()
    let fetched = await ended
    #expect(fetched.status == 3)
    let others = [400_000, 20].flatMap { (0..<$0).map(OriginAnswer.patternByte) }
    // Not with ==, which would compute the difference for minutes.
    #expect(fetched.output.suffix(others.count).elementsEqual(others))
    #expect(fetched.output.count < 401_000)
    #expect(fetched.messages.contains("headgate: \(large): bodies waiting"))
    #expect(fetched.messages.contains("more than 1.0 MiB of disk; write files with -P DIR, or raise --max-held"))
    #expect(fetched.record(large)?.error == "file_failed")
  }
}
