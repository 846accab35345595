import ArgumentParser
import HeadgateDispatch
import HeadgateOrigin
import HeadgateReport
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Bodies to the standard output.
@Suite struct FetchOutputTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin(endPoints: 2)
  }

  @Test func `Bodies are complete and in the order of the list`() async throws {
    // The first arrives last, and those after it are too large for memory.
    let sizes = [1_500_000, 10, 700_000, 0, 900_000]
    let urls = sizes.enumerated().map { index, size in
      origin.url("/bytes/\(size)" + (index == 0 ? "?delay=150" : ""), endPoint: index % 2)
    }
    let fetched = try await fetch(
      urls[0],
      "-i",
      "-",
      in: folder,
      input: urls.dropFirst().joined(separator: "\n")
    )
    #expect(fetched.status == 0)
    #expect(fetched.output == sizes.flatMap(pattern))
  }

  @Test func `Failures leave nothing between the other bodies`() async throws {
    // The body that is cut short must not have the turn, or its beginning would be written to the output: the first URL
    // has it until the next attempt, which has no body, shows that the failure is known.
    let isFirst = Locked(true)
    origin.setScript(
      OriginScript(handler: { request in
        request.path == "/short" ? .truncated(declared: 9, sent: isFirst.exchange(false) ? 5 : 0) : nil
      }))
    let urls = ["/hold", "/status/404", "/short", "/bytes/3"].map { origin.url($0) }
    let trial = try FetchTrial(urls + ["--retry", "1", "--log", "@/log"], in: folder)
    async let finished = trial.finish()
    #expect(await origin.waitUntil({ $0.received == 5 && $0.requests == 1 }, until: .after(.seconds(60))))
    origin.release()
    let fetched = await finished
    #expect(fetched.status == 1)
    #expect(fetched.output == Array("released\n".utf8) + pattern(3))
    #expect(fetched.records.count == 4)
    #expect(fetched.record(origin.url("/bytes/3"))?.firstByte != nil)
    #expect(fetched.record(origin.url("/bytes/3"))?.file == nil)
  }

  @Test func `C19 With --progress json every line is an object, a message too`() async throws {
    let urls = [origin.url("/status/404"), origin.url("/bytes/3")]
    let fetched = try await FetchTrial(urls + ["--progress", "json", "-P", "@/out"], in: folder).finish()
    let objects = try fetched.lines.map { try JSONReader.read(Array($0.utf8)) }
    #expect(Set(objects.compactMap { $0["event"]?.text }) == ["\"message\"", "\"progress\""])
    #expect(objects.contains { $0["text"]?.text == "\"headgate: \(urls[0]): status 404\"" })
    #expect(objects.contains { $0["text"]?.text.contains("ok 1  failed 1") == true })
  }

  @Test func `C19 With --progress json:3 the objects have a descriptor of their own, also with -q`() async throws {
    let own = try Descriptor.create(folder.file("progress"))
    defer { Descriptor.close(own) }
    for quiet in [[], ["-q"]] {
      let arguments = [origin.url("/status/404"), "--progress", "json:\(own)"] + quiet
      let fetched = try await FetchTrial(arguments, in: folder).finish()
      #expect(fetched.lines.count == (quiet.isEmpty ? 2 : 1), "\(fetched.messages)")
    }
    let lines = try #require(folder.text(of: "progress")).split(separator: "\n")
    #expect(lines.count >= 2 && lines.allSatisfy { $0.hasPrefix("{\"event\":\"progress\"") })
    for value in ["json:2", "json:-1", "json:x", "json:", "plain:3", "json:3:4", "json:999999"] {
      #expect(throws: (any Error).self) { try FetchCommand.parse(["http://a/", "--progress", value]) }
    }
  }

  @Test func `More bodies than may be in progress`() async throws {
    let list = (0..<1000).map { origin.url("/bytes/\($0 % 7)", endPoint: $0 % 2) + "\n" }.joined()
    let fetched = try await fetch("-i", "-", in: folder, input: list)
    #expect(fetched.status == 0)
    #expect(fetched.output == (0..<1000).flatMap { pattern($0 % 7) })
  }

  @Test func `Two permits, and the body whose turn it is waits for one`() async throws {
    let list = (0..<6).map { origin.url("/bytes/600000?\($0)", endPoint: $0 / 3) + "\n" }.joined()
    let fetched = try await fetch("-i", "-", "-j", "2", in: folder, input: list)
    #expect(fetched.status == 0, "\(fetched.messages)")
    #expect(fetched.output.count == 3_600_000)
  }

  @Test func `An output that accepts no more data ends the run`() async throws {
    let list = (0..<100).map { origin.url("/bytes/100?\($0)") + "\n" }.joined()
    let trial = try FetchTrial(["-i", "-"], in: folder, input: list, output: try Descriptor.create("/dev/full"))
    let fetched = await trial.finish()
    #expect(fetched.status == 3)
    #expect(fetched.lines.count == 2)
    #expect(
      fetched.messages.hasPrefix("headgate: standard output: No space left on device\nok 0  failed 1  skipped 99  "))
  }

  @Test func `A stream is written as it arrives`() async throws {
    let (reader, writer) = try Descriptor.pipe()
    let trial = try FetchTrial([origin.url("/stream?chunks=0&every=5&size=4")], in: folder, output: writer)
    async let fetched = trial.finish()
    let lane = SerialLane(on: LaneCrew(name: "test-reader", size: 1))
    let first = try await lane.perform { () throws(SystemError) in try Descriptor.read(reader, atMost: 4) }
    #expect(first == pattern(4))
    trial.run.interrupt()
    trial.run.interrupt()
    #expect(await fetched.status == 130)
    Descriptor.close(reader)
  }

  /// What a server answers once a part of its body is in the output.
  struct Rest: CustomTestStringConvertible {
    let status: Int
    var tag = "\"1\""
    var isWhole = false
    var testDescription: String { "\(status) \(tag)" }
  }

  @Test(arguments: [
    Rest(status: 206, isWhole: true), Rest(status: 206, tag: "\"2\""), Rest(status: 200), Rest(status: 404),
  ])
  func `A body that breaks off in the output is continued there, or has failed`(rest: Rest) async throws {
    let ranges = LockedBox<[String?]>([])
    origin.setScript(
      OriginScript(handler: { request in
        let range = request.header("Range")
        ranges.withLock { $0.append(range) }
        var answer: OriginAnswer
        if let offset = range.flatMap({ Int($0.dropFirst(6).dropLast()) }), rest.status == 206 {
          answer = .bytes(Array(pattern(900_000)[offset...]), status: 206)
          answer.headers = [OriginHeader("Content-Range", "bytes \(offset)-899999/900000")]
        } else if ranges.withLock({ $0.count }) == 1 {
          answer = .truncated(declared: 900_000, sent: 700_000)
        } else {
          answer = .bytes(pattern(900_000), status: rest.status == 206 ? 200 : rest.status)
        }
        answer.headers.append(OriginHeader("ETag", answer.status == 206 ? rest.tag : "\"1\""))
        return answer
      }))
    let fetched = try await fetch(origin.url("/a"), "--retry", "2", "--log", "@/log", in: folder)
    #expect(ranges.withLock { $0.prefix(2) } == [nil, "bytes=700000-"])
    #expect(fetched.status == (rest.isWhole ? 0 : 4), "\(fetched.messages)")
    #expect(fetched.output == (rest.isWhole ? pattern(900_000) : pattern(700_000)))
    #expect(fetched.records.map(\.error) == [rest.isWhole ? nil : "connection_lost"], "\(fetched.messages)")
    let isTold = fetched.messages.contains("its first 683.6 KiB are in the output")
    #expect(isTold != rest.isWhole, "\(fetched.messages)")
  }
}
