import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// Lists to files: the right file, record and status for each line.
@Suite struct FetchFilesTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin(endPoints: 3)
  }

  private func pattern(_ count: Int) -> [UInt8] { (0..<count).map(OriginAnswer.patternByte) }

  @Test func `A file for each URL, and a record`() async throws {
    let url = origin.url("/bytes/300?x=1")
    let fetched = try await fetch(url, origin.url("/"), "-P", "@/a/b", "--log", "@/log", in: folder)
    #expect(fetched.status == 0)
    #expect(fetched.output.isEmpty)
    #expect(folder.bytes(of: "a/b/300") == pattern(300))
    #expect(folder.text(of: "a/b/index.html") == "ok\n")
    #expect(folder.names(in: "a/b") == ["300", "index.html"])
    let record = try #require(fetched.record(url))
    #expect(record.finalUrl == url)
    #expect(record.endPoint == "127.0.0.1:\(origin.port)")
    #expect(record.status == 200)
    #expect(record.error == nil)
    #expect(record.bytes == 300)
    #expect(record.file == folder.file("a/b/300"))
    #expect(try #require(record.total) >= #require(record.firstByte))
    #expect(record.queued != nil && record.dns != nil && record.connect != nil && record.tls != nil)
    #expect(fetched.lines.count == 1)
    #expect(fetched.messages.hasPrefix("ok 2  failed 0  bytes 303 B"))
    #expect(fetched.messages.hasSuffix("/host\n"))
  }

  @Test func `A body larger than memory should hold`() async throws {
    let fetched = try await fetch(origin.url("/bytes/3000000"), "-P", "@/out", in: folder)
    #expect(fetched.status == 0)
    #expect(folder.bytes(of: "out/3000000") == pattern(3_000_000))
  }

  @Test func `A status that is not 2xx leaves no file`() async throws {
    let urls = [404, 500, 304].map { origin.url("/status/\($0)") }
    let fetched = try await fetch(urls[0], urls[1], urls[2], "-P", "@/out", "--log", "@/log", in: folder)
    #expect(fetched.status == 8)
    #expect(folder.names(in: "out").isEmpty)
    for (url, status) in zip(urls, [404, 500, 304]) {
      #expect(fetched.record(url)?.error == "http_error")
      #expect(fetched.record(url)?.status == status)
      #expect(fetched.messages.contains("headgate: \(url): status \(status)\n"))
    }
  }

  @Test func `A redirect gives the file the name that was asked for`() async throws {
    let target = origin.url("/bytes/9", endPoint: 1)
    let url = origin.url("/redirect?to=\(target)")
    let lost = origin.url("/redirect?to=\(origin.url("/status/410", endPoint: 2))")
    let fetched = try await fetch(url, lost, "-P", "@/out", "--log", "@/log", in: folder)
    #expect(fetched.status == 8)
    #expect(folder.bytes(of: "out/redirect") == pattern(9))
    #expect(fetched.record(url)?.finalUrl == target)
    #expect(fetched.record(url)?.endPoint == "127.0.0.1:\(origin.ports[1])")
    #expect(fetched.record(lost)?.status == 410)
    #expect(fetched.messages.contains("status 410 at http://127.0.0.1:\(origin.ports[2])/status/410\n"))
  }

  @Test func `Files that exist stay, unless they are to be replaced`() async throws {
    try folder.write("mine", to: "1")
    let kept = try await fetch(origin.url("/bytes/1"), origin.url("/bytes/1"), "-P", "@/.", in: folder)
    #expect(kept.status == 0)
    #expect(folder.text(of: "1") == "mine")
    #expect(folder.bytes(of: "1.1") == pattern(1))
    #expect(folder.bytes(of: "1.2") == pattern(1))
    let replaced = try await fetch(origin.url("/bytes/1"), "-P", "@/.", "--overwrite", in: folder)
    #expect(replaced.status == 0)
    #expect(folder.bytes(of: "1") == pattern(1))
    #expect(!folder.names().contains("1.3"))
  }

  @Test func `No path leaves its folder`() async throws {
    let hook = OriginScript(answerHook: { _ in .text("x") })
    origin.setScript(hook)
    let paths = ["/..", "/a/%2e%2e", "/%2e%2e%2f%2e%2e%2fup", "/%2Fetc%2Fpasswd", "/../../up2", "/.hidden", "/a%00b"]
    let list = paths.map { origin.url($0) + "\n" }.joined()
    let fetched = try await fetch("-i", "-", "-P", "@/in/out", in: folder, input: list)
    #expect(fetched.status == 0)
    #expect(folder.names().filter { !["stdin", "stdout", "stderr"].contains($0) } == ["in"])
    #expect(folder.names(in: "in") == ["out"])
    #expect(folder.names(in: "in/out").count == paths.count)
    #expect(folder.names(in: "in/out").allSatisfy { !$0.hasPrefix(".") })
  }

  @Test func `A connection that nobody takes, a name that nobody has, an answer that breaks off`() async throws {
    let gone = try Origin()
    let dead = gone.url("/dead")
    gone.stop()
    let short = origin.url("/short")
    let fetched = try await fetch(
      dead,
      short,
      origin.url("/reset"),
      origin.url("/garbage"),
      "-P",
      "@/out",
      "--log",
      "@/log",
      in: folder
    )
    #expect(fetched.status == 4)
    #expect(folder.names(in: "out").isEmpty)
    #expect(fetched.record(dead)?.error == "connect_failed")
    #expect(fetched.record(short)?.error == "connection_lost")
    #expect(fetched.messages.contains("headgate: \(dead): "))
  }

  @Test func `Failures of several classes are 1`() async throws {
    let fetched = try await fetch(origin.url("/status/404"), origin.url("/reset"), "-P", "@/out", in: folder)
    #expect(fetched.status == 1)
  }

  @Test func `Header fields go along`() async throws {
    origin.setScript(OriginScript(answerHook: { .text($0.header("X-A") ?? "none") }))
    let fetched = try await fetch(origin.url("/a"), "-H", "X-A: b", in: folder)
    #expect(fetched.output == Array("b".utf8))
  }

  @Test func `Quiet says errors only, verbose says all`() async throws {
    let quiet = try await fetch(origin.url("/"), origin.url("/status/404"), "-P", "@/q", "-q", in: folder)
    #expect(quiet.messages == "headgate: \(origin.url("/status/404")): status 404\n")
    let verbose = try await fetch(origin.url("/bytes/5"), "-P", "@/v", "-v", in: folder)
    #expect(verbose.lines.count == 2)
    #expect(verbose.messages.hasPrefix("200  5 B  "))
    #expect(verbose.messages.contains("\(origin.url("/bytes/5")) -> \(folder.file("v/5"))\n"))
  }

  @Test func `What can't be opened is told before anything is fetched`() async throws {
    try folder.write("", to: "file")
    for arguments in [
      ["-P", "@/file"], ["-P", "@/file/under"], ["--log", "@/none/log"], ["-i", "@/none"], ["-i", "@/."],
      ["--cacert", "@/none"],
    ] {
      let error = #expect(throws: FetchProblem.self) {
        _ = try FetchTrial([origin.url("/")] + arguments, in: folder)
      }
      #expect(error?.status == .file)
    }
    #expect(origin.counts().received == 0)
  }

  @Test func `A log that the disk does not take is an error of files`() async throws {
    let fetched = try await fetch(origin.url("/"), "-P", "@/out", "--log", "/dev/full", in: folder)
    #expect(fetched.status == 3)
    #expect(fetched.messages.contains("the log is not complete"))
    #expect(folder.names(in: "out") == ["index.html"])
  }
}
