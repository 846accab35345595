import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
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

  /// No server listens there.
  private let dead = "http://127.0.0.1:1/dead"

  @Test func `Incomplete files of an earlier run are reported, and stay`() async throws {
    let url = origin.url("/bytes/3")
    #expect(try await fetch(url, "-P", "@/out", in: folder).lines.count == 1)
    try folder.write("x", to: "out/a.part")
    let one = try await fetch(url, "-P", "@/out", in: folder)
    #expect(one.messages.contains("out/a.part is incomplete") && one.messages.contains("--session"))
    try folder.write("x", to: "out/b.part")
    #expect(try await fetch(url, "-P", "@/out", in: folder).messages.contains("a.part and 1 more are incomplete"))
    #expect(!(try await fetch(url, "-P", "@/out", "--session", "@/run", in: folder).messages.contains("incomplete")))
    #expect(folder.names(in: "out").contains("a.part"))
  }

  @Test(arguments: [[], ["--session", "@/run"], ["--overwrite"], ["--content-disposition"]])
  func `C20 -R gives files the times of their bodies at the server`(options: [String]) async throws {
    origin.setScript(
      OriginScript(handler: { request in
        var answer = OriginAnswer.bytes(pattern(request.path == "/large" ? 700_000 : 3))
        if request.path != "/none" {
          answer.headers = [OriginHeader("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")]
        }
        return answer
      }))
    let urls = ["/small", "/large", "/none"].map { origin.url($0) }
    let fetched = try await FetchTrial(urls + ["-R", "-P", "@/out"] + options, in: folder).finish()
    #expect(fetched.status == 0, "\(fetched.messages)")
    for name in ["small", "large"] { #expect(folder.modified("out/" + name) == 1_445_412_480) }
    #expect(folder.modified("out/none") ?? 0 > 1_700_000_000)
    #expect(folder.names(in: "out") == ["large", "none", "small"])
  }

  @Test func `Each URL has a file and a record`() async throws {
    let url = origin.url("/bytes/300?x=1")
    let fetched = try await fetch(url, origin.url("/"), "-P", "@/a/b", "--log", "@/log", in: folder)
    #expect(fetched.status == 0)
    #expect(fetched.output.isEmpty)
    #expect(folder.bytes(of: "a/b/300?x=1") == pattern(300))
    #expect(folder.text(of: "a/b/index.html") == "ok\n")
    #expect(folder.names(in: "a/b") == ["300?x=1", "index.html"])
    let record = try #require(fetched.record(url))
    #expect(record.finalUrl == url)
    #expect(record.endPoint == "127.0.0.1:\(origin.port)")
    #expect(record.status == 200)
    #expect(record.error == nil)
    #expect(record.bytes == 300)
    #expect(record.file == folder.file("a/b/300?x=1"))
    #expect(record.attempts == 1 && record.httpVersion == "HTTP/1.1" && record.message == nil)
    #expect(record.time?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    #expect(try #require(record.total) >= #require(record.firstByte))
    #expect(record.queued != nil && record.dns != nil && record.connect != nil && record.tls != nil)
    #expect(fetched.lines.count == 1)
    #expect(fetched.messages.hasPrefix("ok 2  failed 0  bytes 303 B"))
    #expect(fetched.messages.hasSuffix("/host\n"))
  }

  @Test func `A socket that is missing is named, and not the host of the URL`() async throws {
    let socket = folder.file("none.sock")
    let fetched = try await fetch(origin.url("/a"), "--unix-socket", socket, in: folder)
    #expect(fetched.status == 4 && fetched.messages.contains("(the socket \(socket) could not be connected to)"))
  }

  @Test func `A part of a body is stored only if a part was asked for`() async throws {
    origin.setScript(OriginScript(handler: { _ in .text("part", status: 206) }))
    let url = origin.url("/a")
    for arguments in [["-P", "@/out"], []] {
      let fetched = try await FetchTrial([url] + arguments, in: folder).finish()
      #expect(fetched.status == 8 && fetched.messages.contains("/a: status 206"))
      #expect(fetched.output.isEmpty && folder.names(in: "out").isEmpty)
    }
    let asked = try await fetch(url, "-P", "@/out", "-H", "Range: bytes=0-3", in: folder)
    #expect(asked.status == 0 && folder.text(of: "out/a") == "part")
  }

  @Test func `A body that is too large for memory`() async throws {
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

  @Test func `After a redirect the file is named after the requested URL`() async throws {
    let target = origin.url("/bytes/9", endPoint: 1)
    let url = origin.url("/redirect?to=\(target)")
    let lost = origin.url("/redirect?to=\(origin.url("/status/410", endPoint: 2))")
    let fetched = try await fetch(url, lost, "-P", "@/out", "--log", "@/log", in: folder)
    #expect(fetched.status == 8)
    #expect(folder.bytes(of: "out/" + FileName.of(url)) == pattern(9))
    #expect(FileName.of(url).hasPrefix("redirect?to=http:__127.0.0.1:"))
    #expect(fetched.record(url)?.finalUrl == target)
    #expect(fetched.record(url)?.endPoint == "127.0.0.1:\(origin.ports[1])")
    #expect(fetched.record(lost)?.status == 410)
    #expect(fetched.messages.contains("status 410 at http://127.0.0.1:\(origin.ports[2])/status/410\n"))
  }

  @Test func `Existing files stay, unless they are to be replaced`() async throws {
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

  @Test(arguments: [[], ["--content-disposition"]])
  func `A body beside an existing file of its name is reported, the first few by name`(options: [String]) async throws {
    let urls = (1...7).map { origin.url("/bytes/\($0)") }
    func run(_ more: String...) async throws -> Fetched {
      try await FetchTrial(urls + ["-P", "@/out"] + options + more, in: folder).finish()
    }
    #expect(try await run().lines.count == 1)
    let second = try await run()
    #expect(second.lines.count == 7, "\(second.messages)")
    let old = second.lines.filter {
      $0.hasSuffix(".1 (--overwrite replaces it)") && $0.contains(" exists; the new body ")
    }
    #expect(old.count == 5, "\(second.messages)")
    #expect(second.messages.contains("headgate: 2 more new bodies are beside an existing file of the name\n"))
    #expect(try await run("-q").messages.isEmpty)
    #expect(try await run("--overwrite").lines.count == 1)
    // Names that only this run gives twice are no files from before.
    let twice = try await fetch(origin.url("/bytes/1"), origin.url("/bytes/1"), "-P", "@/other", in: folder)
    #expect(twice.lines.count == 1, "\(twice.messages)")
  }

  @Test func `No path leaves its folder`() async throws {
    let hook = OriginScript(handler: { _ in .text("x") })
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

  @Test func `A refused connection, an unknown name, a response that breaks off`() async throws {
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
    let message = try #require(fetched.record(dead)?.message)
    #expect(fetched.messages.contains("headgate: \(dead): \(message)\n"))
    #expect(fetched.records.allSatisfy { $0.attempts == 1 })
  }

  @Test func `Files with the same name are numbered in the order of the list, whichever arrives first`() async throws {
    origin.setScript(
      OriginScript(handler: { request in
        var answer = OriginAnswer.text(request.path)
        if request.path == "/a/x.txt" { answer.delay = .milliseconds(200) }
        return answer
      }))
    let urls = ["a", "b", "c"].map { origin.url("/\($0)/x.txt") }
    for option in [[], ["--overwrite"]] {
      let trial = try FetchTrial(urls + ["-P", "@/out\(option.count)"] + option, in: folder)
      #expect(await trial.finish().status == 0)
      let out = "out\(option.count)"
      let texts = ["x.txt", "x.txt.1", "x.txt.2"].map { folder.text(of: "\(out)/\($0)") }
      #expect(texts == ["/a/x.txt", "/b/x.txt", "/c/x.txt"])
    }
  }

  @Test func `Truncated and deferred responses are requested again, for files and for the output`() async throws {
    let count = Locked(0)
    origin.setScript(
      OriginScript(handler: { request in
        guard request.path == "/cut" else { return nil }
        let isFirst = count.withLock { count in
          count += 1
          return count % 2 == 1
        }
        return isFirst ? .truncated(declared: 9, sent: 5) : .pattern(count: 9)
      }))
    let stored = try await fetch(
      origin.url("/cut"), "--retry", "1", "-P", "@/out", "--log", "@/log", in: folder)
    #expect(stored.status == 0)
    #expect(stored.records.first?.attempts == 2)
    #expect(folder.bytes(of: "out/cut") == pattern(9))
    // The first one has the turn until the other is repeated, so that the output has nothing of the truncated body.
    origin.resetCounts()
    async let run = fetch(origin.url("/hold"), origin.url("/cut"), "--retry", "1", in: folder)
    #expect(await origin.waitUntil({ $0.received == 3 }, until: .after(.seconds(60))))
    origin.release()
    let printed = try await run
    #expect(printed.status == 0, "\(printed.messages)")
    #expect(printed.output == Array("released\n".utf8) + pattern(9))
    let refused = try await fetch(dead, "--retry", "1", "-P", "@/out", "--log", "@/log", in: folder)
    #expect(refused.records.first?.attempts == 2)
  }

  @Test func `With --compressed a body is requested in gzip, and stored or printed unpacked`() async throws {
    let zeros = origin.url("/gzip?bytes=300000")
    let stored = try await fetch(zeros, "--compressed", "-P", "@/out", "-o", "zeros", in: folder)
    #expect(stored.status == 0 && folder.bytes(of: "out/zeros") == [UInt8](repeating: 0, count: 300_000))
    let printed = try await fetch(zeros, "--compressed", in: folder)
    #expect(printed.output == [UInt8](repeating: 0, count: 300_000))
    // Without it the body is stored as the server sends it.
    let raw = try await fetch(zeros, "-P", "@/out", "-o", "raw", in: folder)
    #expect(raw.status == 0 && folder.bytes(of: "out/raw")?.prefix(2) == [0x1f, 0x8b])
  }

  @Test func `A full disk is reported once, and ends the run`() async throws {
    let trial = try FetchTrial([origin.url("/"), "-P", "@/out", "--log", "@/log"], in: folder)
    let full = DispatchError.unwritten("out/x.part", SystemError(errno: ENOSPC))
    for index in 0..<3 {
      let url = origin.url("/\(index)")
      trial.run.diskFailed(FetchJob(url: url, request: try DispatchRequest(url), index: index), full)
    }
    let fetched = await trial.finish()
    #expect(fetched.status == 3)
    #expect(
      fetched.messages.hasPrefix(
        "headgate: the disk: writing out/x.part: No space left on device; nothing more is fetched\nok 0  failed 1  "
          + "skipped 3  "))
    #expect(fetched.lines.count == 2)
    #expect(DiskFault.isLasting(full))
    #expect(!DiskFault.isLasting(.unwritten("x.part", SystemError(errno: EACCES))))
  }

  @Test func `The log goes to the standard output if bodies go to files`() async throws {
    let fetched = try await fetch(origin.url("/"), "-P", "@/out", "--log", "-", in: folder)
    #expect(fetched.status == 0)
    #expect(String(decoding: fetched.output, as: UTF8.self).hasPrefix("{\"url\":\"\(origin.url("/"))\""))
  }

  @Test func `With -q only errors are reported, with -v every request`() async throws {
    let quiet = try await fetch(origin.url("/"), origin.url("/status/404"), "-P", "@/q", "-q", in: folder)
    #expect(quiet.messages == "headgate: \(origin.url("/status/404")): status 404\n")
    let verbose = try await fetch(origin.url("/bytes/5"), "-P", "@/v", "-v", in: folder)
    #expect(verbose.lines.count == 2)
    #expect(verbose.messages.hasPrefix("200  5 B  "))
    #expect(verbose.messages.contains("\(origin.url("/bytes/5")) -> \(folder.file("v/5"))\n"))
  }

  @Test func `Files that can't be opened are reported before anything is fetched`() async throws {
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

  @Test func `A log that can't be written is an error of files`() async throws {
    let fetched = try await fetch(origin.url("/"), "-P", "@/out", "--log", "/dev/full", in: folder)
    #expect(fetched.status == 3)
    #expect(fetched.messages.contains("the log is incomplete"))
    #expect(folder.names(in: "out") == ["index.html"])
  }
}
