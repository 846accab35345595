import ArgumentParser
import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// How lists are read and processed.
@Suite struct FetchListTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin(endPoints: 3)
  }

  @Test func `Invalid lines are reported by number, and the rest is fetched`() async throws {
    let list = "\u{FEFF}\(origin.url("/bytes/1"))\r\n# c\r\nfoo\r\n\r\nftp://x/\r\n\(origin.url("/bytes/2"))"
    try folder.write(list, to: "list")
    let fetched = try await fetch("-i", "@/list", "-P", "@/out", "--log", "@/log", in: folder)
    #expect(fetched.status == 2)
    #expect(folder.names(in: "out") == ["1", "2"])
    #expect(
      fetched.messages.contains(
        "headgate: \(folder.file("list")):3: \"foo\" has no scheme; URLs begin with https:// or http://\n"))
    #expect(
      fetched.messages.contains(
        "list:5: \"ftp://x/\": the scheme ftp is not supported; URLs begin with https:// or http://\n"))
    #expect(fetched.messages.contains("ok 2  failed 2  "))
    #expect(fetched.record("foo")?.error == "invalid_url")
    #expect(fetched.records.count == 4)
  }

  @Test(arguments: ["zstd": [0x28, 0xB5, 0x2F, 0xFD], "xz": [0xFD, 0x37, 0x7A, 0x58]])
  func `A compressed list is reported with its format, and not read`(form: String, start: [UInt8]) async throws {
    try Data(start + [10, 10, 0]).write(to: URL(fileURLWithPath: folder.file("list")))
    let fetched = try await fetch("-i", "@/list", "-P", "@/out", in: folder)
    #expect(fetched.status == 2)
    #expect(fetched.lines.count == 2)
    #expect(fetched.messages.contains("/list: it is compressed with \(form); run "))
    #expect(Compression(startingWith: Array("http://a/\n".utf8)) == nil)
    #expect(Compression(startingWith: [0x1F]) == nil)
  }

  @Test func `An empty list is not an error`() async throws {
    let fetched = try await fetch("-i", "-", "-P", "@/out", in: folder, input: "# nothing\n\n")
    #expect(fetched.status == 0)
    #expect(fetched.messages.hasPrefix("headgate: the list has no URLs\nok 0  failed 0  bytes 0 B"))
  }

  @Test func `A thousand lines, and never more than four at once`() async throws {
    origin.setScript(OriginScript(connectionLimit: 4))
    let list = (0..<1000).map { index -> String in
      let there = origin.url("/bytes/\(index)", endPoint: (index + 1) % 3)
      return switch index % 10 {
      case 7: origin.url("/redirect?to=\(there)&n=\(index)", endPoint: index % 3)
      case 8: origin.url("/status/404?\(index)", endPoint: index % 3)
      case 9: "bad line \(index)"
      default: origin.url("/bytes/\(index)", endPoint: index % 3)
      }
    }
    try folder.write(list.joined(separator: "\n"), to: "list")
    let fetched = try await fetch("-i", "@/list", "-P", "@/out", "--per-host", "4", "--log", "@/log", in: folder)
    #expect(fetched.status == 1)
    #expect(fetched.messages.contains("ok 800  failed 200  "))
    #expect(Set(fetched.records.map(\.url)) == Set(list))
    #expect(fetched.records.count == 1000)
    #expect(folder.names(in: "out").count == 800)
    for index in 0..<1000 where index % 10 < 7 {
      #expect(folder.bytes(of: "out/\(index)") == (0..<index).map(OriginAnswer.patternByte))
    }
    for endPoint in 0..<3 {
      let counts = origin.counts(endPoint: endPoint)
      #expect(counts.peakSockets <= 4)
      #expect(counts.refused == 0)
    }
  }

  @Test func `Waiting does not count toward the time of a request, but toward that of the run`() async throws {
    func list(_ count: Int) -> String { (0..<count).map { origin.url("/delay/300?\($0)") + "\n" }.joined() }
    // One at a time, 300 ms each: the last one waits for longer than its own limit.
    let patient = try await fetch(
      "-i",
      "-",
      "-P",
      "@/a",
      "--per-host",
      "1",
      "--max-time",
      "4.5",
      in: folder,
      input: list(16)
    )
    #expect(patient.status == 0)
    let hurried = try await fetch(
      "-i",
      "-",
      "-P",
      "@/b",
      "--per-host",
      "4",
      "--deadline",
      "1",
      "--log",
      "@/log",
      in: folder,
      input: list(16)
    )
    // All sixteen are in the queue, where their deadlines pass, unless a stall made the reading late.
    #expect(hurried.status == 6)
    let (stored, skipped) = (folder.names(in: "b").count, hurried.count("skipped"))
    #expect(stored < 16)
    #expect(hurried.records.filter { $0.error == "deadline_exceeded" }.count == 16 - stored - skipped)
    // Only lines that were not read are skipped: they have no record.
    #expect(hurried.records.count == 16 - skipped)
  }

  @Test func `Of many URLs that the deadline leaves, only some are reported on the standard error`() async throws {
    let list = (0..<45).map { origin.url("/hold?\($0)") + "\n" }.joined()
    let fetched = try await fetch(
      "-i", "-", "-P", "@/out", "--per-host", "10", "--deadline", "1", "--log", "@/log", in: folder, input: list)
    // About thirty wait in the queue, unless a stall made the reading late.
    let left = fetched.records.count { $0.error == "deadline_exceeded" && $0.attempts == 0 }
    #expect(
      fetched.lines.count { $0.contains("/hold?") && $0.contains("while it waited") } == min(left, Report.mostRepeated))
    let others = "more URLs have the error deadline_exceeded; -v names each of them, and so does --log\n"
    #expect(fetched.messages.contains(others) == (left > Report.mostRepeated))
  }

  @Test(arguments: ["", "\n\n"]) func `An empty list is told`(list: String) async throws {
    let fetched = try await fetch("-i", "-", "-P", "@/out", "--limit", "foo=1", in: folder, input: list)
    #expect(fetched.status == 0 && fetched.messages.hasPrefix("headgate: the list has no URLs\nok 0  failed 0  "))
    #expect(fetched.lines.count == 2, "\(fetched.messages)")
    let called = try await call("-i", "-", "--url", origin.url("/{n}"), "-o", "@/results", in: folder, input: list)
    #expect(called.status == 0 && called.messages.hasPrefix("headgate: the list has no rows\n"), "\(called.messages)")
  }

  @Test func `Each time limit has its own error code`() async throws {
    let slow = try await fetch(
      origin.url("/silence"),
      "-P",
      "@/out",
      "--max-time",
      "0.1",
      "--log",
      "@/log",
      in: folder
    )
    #expect(slow.status == 6)
    #expect(slow.records.first?.error == "timed_out")
    let idle = try await fetch(
      origin.url("/stream?chunks=2&every=60000"),
      "-P",
      "@/out",
      "--idle-timeout",
      "0.1",
      "--log",
      "@/log",
      in: folder
    )
    #expect(idle.status == 6)
    #expect(idle.records.first?.error == "idle_timed_out")
    #expect(folder.names(in: "out").isEmpty)
  }

  @Test func `A deadline stops the reading of a stalled list`() async throws {
    let (reader, writer) = try Descriptor.pipe()
    defer { Descriptor.close(writer) }
    let options = try FetchCommand.parse(["-i", "-", "-P", folder.file("out"), "--deadline", "0.2"]).options()
    let messages = try Descriptor.create(folder.file("stderr"))
    let run = try FetchRun(options, streams: .init(input: reader, output: 1, messages: messages))
    #expect(await run.run() == .time)
    #expect(folder.text(of: "stderr")?.contains("before the end of the list") == true)
    Descriptor.close(reader)
    Descriptor.close(messages)
  }

  @Test func `D117 an interrupt finishes running requests and skips the rest; a second one ends all`() async throws {
    let list = (0..<10).map { origin.url("/hold?\($0)") + "\n" }.joined()
    let arguments = ["-i", "-", "-P", "@/out", "--per-host", "3", "--log", "@/log"]
    let once = try FetchTrial(arguments, in: folder, input: list)
    async let fetched = once.finish()
    #expect(await origin.waitUntil({ $0.requests == 3 }, until: .after(.seconds(60))))
    once.run.interrupt()
    origin.release()
    #expect(await fetched.status == 130)
    #expect(folder.names(in: "out").count == 3)
    // How much of the list has been read by then is not determined: none of it beyond the three may run.
    #expect(await fetched.messages.contains("ok 3  failed 0  skipped 7  "))
    #expect(await fetched.messages.contains("headgate: waiting for 3 running requests to finish (3 at 127.0.0.1:"))
    #expect(await fetched.records.filter { $0.error == "shut_down" }.count == (await fetched.records.count) - 3)

    let twice = try FetchTrial(arguments + ["--overwrite"], in: folder, input: list)
    async let ended = twice.finish()
    #expect(await origin.waitUntil({ $0.requests == 3 }, until: .after(.seconds(60))))
    twice.run.interrupt()
    twice.run.interrupt()
    #expect(await ended.status == 130)
    #expect(await ended.messages.contains("ok 0  failed 0  skipped "))
    #expect(folder.names(in: "out").allSatisfy { !$0.hasSuffix(".part") })
  }

  @Test(arguments: [[], ["-P", "@/out", "--session", "@/run"]])
  func `A URL whose body was cut short has failed, even if an interrupt ends its next attempt`(target: [String])
    async throws
  {
    let isFirst = Locked(true)
    origin.setScript(
      OriginScript(handler: { _ in isFirst.exchange(false) ? .truncated(declared: 9, sent: 0) : .hold }))
    let trial = try FetchTrial([origin.url("/a"), "--retry", "5"] + target, in: folder)
    async let fetched = trial.finish()
    #expect(await origin.waitUntil({ $0.received == 2 && $0.requests == 1 }, until: .after(.seconds(60))))
    trial.run.interrupt()
    trial.run.interrupt()
    #expect(await fetched.status == 130)
    #expect(await fetched.messages.contains("ok 0  failed 1  skipped 0  "))
    if target.contains("--session") { #expect(folder.text(of: "run")?.contains("connection_lost") == true) }
  }

  @Test func `Nothing starts after an interrupt is reported, which happens before the run ends`() async throws {
    let list = (0..<10).map { origin.url("/hold?\($0)") + "\n" }.joined()
    let messages = try MessagePipe()
    let trial = try FetchTrial(
      ["-i", "-", "-P", "@/out", "--per-host", "3"], in: folder, input: list, messages: messages.writer)
    async let fetched = trial.finish()
    #expect(await origin.waitUntil({ $0.requests == 3 }, until: .after(.seconds(60))))
    let interrupt = Task { trial.run.interrupt() }
    #expect(try await messages.lines { $0.contains("interrupt again") }.count == 1)
    origin.release()
    #expect(try await messages.rest().last?.hasPrefix("ok 3  failed 0  skipped 7  ") == true)
    #expect(await fetched.status == 130)
    _ = await interrupt.value
  }
}
