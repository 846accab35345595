import Foundation
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Names that responses give their bodies.
@Suite struct ContentDispositionTests {
  @Test(arguments: [
    ("attachment; filename=a.txt", "a.txt"),
    ("attachment; filename=\"a b.txt\"", "a b.txt"),
    ("ATTACHMENT;FileName = \"a;b=c.txt\" ; x=y", "a;b=c.txt"),
    ("inline; filename=\"a \\\"b\\\".txt\"", "a \"b\".txt"),
    ("attachment; filename=\"plain.txt\"; filename*=UTF-8''na%C3%AFve%20%E2%82%AC.txt", "naïve €.txt"),
    ("attachment; filename*=utf-8'en'x.txt; filename=y.txt", "x.txt"),
    ("attachment; filename*=iso-8859-1''%A3.txt", "£.txt"),
    ("attachment; filename*=UTF-8''%FF; filename=plain.txt", "plain.txt"),
    ("attachment; filename*=utf8''na%C3%AFve.txt", "naïve.txt"),
    ("attachment; filename*=''na%C3%AFve.txt", "naïve.txt"),
    ("attachment; filename*=\"UTF-8''na%C3%AFve.txt\"", "naïve.txt"),
    ("attachment; filename*=latin1''na%EFve.txt", "naïve.txt"),
    ("attachment; filename=\"=?UTF-8?B?bmHDr3ZlLnR4dA==?=\"", "naïve.txt"),
    ("attachment; filename=\"=?utf-8?q?na=C3=AFve_1%.txt?=\"", "naïve 1%.txt"),
    ("attachment; filename=\"=?iso-8859-1?Q?na=EFve?= =?UTF-8?Q?.txt?=\"", "naïve.txt"),
    ("attachment; filename=\"=?UTF-8?B?Li4vLi4vYg==?=\"", "b"),
    ("attachment; filename=\"=?UTF-8?X?b?=\"", "=?UTF-8?X?b?="),
    ("attachment; filename=\"=?x.txt\"", "=?x.txt"),
    ("attachment; filename*=koi8-r''%FF; filename=plain.txt", "plain.txt"),
    ("attachment; filename*=UTF-8''..; filename=plain.txt", "plain.txt"),
    ("filename=x.txt", "x.txt"),
    ("attachment; filename=first; filename=second", "first"),
    ("attachment; filename=\"open", "open"),
    ("attachment; filename=\"/etc/passwd\"", "passwd"),
    ("attachment; filename=\"..\\\\..\\\\boot.ini\"", "boot.ini"),
    ("attachment; filename*=UTF-8''a%2F..%2Fb", "b"),
    ("attachment; filename=\" a.txt \"", "a.txt"),
  ])
  func `C17 A name is found, without folders`(field: String, name: String) {
    #expect(ContentDisposition.name(field) == name)
  }

  @Test(arguments: [
    "", "attachment", "attachment; filename=", "attachment; filename=\"\"", "inline; name=x",
    "attachment; filename=\"..\"",
    "attachment; filename=a/", "attachment; filename*=x.txt", "=;=;;=\"", "attachment; filename=\"\\",
  ])
  func `Without a name, none is found`(field: String) {
    #expect(ContentDisposition.name(field) == nil)
  }
}

@Suite struct FetchDispositionTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    // /d/NAME names its body NAME; others have other names.
    origin = try Origin(
      script: OriginScript(handler: { request in
        guard !request.path.hasPrefix("/status") else { return nil }
        var answer = OriginAnswer.text(request.target)
        if let name = request.parameter("as") {
          answer.headers = [OriginHeader("Content-Disposition", "attachment; filename=\"\(name)\"")]
        }
        return answer
      }))
  }

  private func run(_ paths: [String], _ arguments: String...) async throws -> Fetched {
    let urls = paths.map { origin.url($0) }
    return await
      (try FetchTrial(
        urls + ["-P", "@/out", "--content-disposition", "--per-host", "1", "--log", "@/log"] + arguments, in: folder))
      .finish()
  }

  @Test func `Files are named by their responses, or else by their URLs`() async throws {
    let fetched = try await run(["/get?as=report.pdf", "/plain", "/get?as=plain", "/get?as=report.pdf", "/status/404"])
    #expect(fetched.status == 8)
    #expect(folder.names(in: "out") == ["plain", "plain.1", "report.pdf", "report.pdf.1"])
    #expect(folder.text(of: "out/report.pdf") == "/get?as=report.pdf")
    #expect(folder.text(of: "out/plain") == "/plain")
    #expect(fetched.record(origin.url("/get?as=plain"))?.file == folder.file("out/plain.1"))
  }

  @Test func `Without the option, responses do not name files`() async throws {
    _ = try await fetch(origin.url("/get?as=report.pdf"), "-P", "@/out", in: folder)
    #expect(folder.names(in: "out") == ["get?as=report.pdf"])
  }

  @Test func `No name leaves the folder or is hidden`() async throws {
    let names = ["..%2F..%2Fup", ".bashrc", "x.part", "a%1Bb", String(repeating: "x", count: 300) + ".txt"]
    let fetched = try await run(names.map { "/get?as=" + $0 })
    #expect(fetched.status == 0, "\(fetched.messages)")
    let long = String(repeating: "x", count: 236) + ".txt"
    #expect(Set(folder.names(in: "out")).isSuperset(of: ["up", "_bashrc", "x.part_", long]))
    #expect(!FileManager.default.fileExists(atPath: folder.file("up")))
  }

  @Test func `Existing files stay, unless they are to be replaced`() async throws {
    try FileManager.default.createDirectory(atPath: folder.file("out/dir"), withIntermediateDirectories: true)
    for name in ["report.pdf", "get?as=report.pdf", "plain"] { try folder.write("mine", to: "out/" + name) }
    _ = try await run(["/get?as=report.pdf", "/plain"])
    #expect(folder.text(of: "out/report.pdf") == "mine" && folder.text(of: "out/report.pdf.1") == "/get?as=report.pdf")
    #expect(folder.text(of: "out/plain.1") == "/plain")
    _ = try await run(["/get?as=report.pdf", "/plain", "/get?as=dir"], "--overwrite")
    #expect(folder.text(of: "out/report.pdf") == "/get?as=report.pdf" && folder.text(of: "out/plain") == "/plain")
    // Another file has the URL's name, and a folder is never replaced.
    #expect(folder.text(of: "out/get?as=report.pdf") == "mine" && folder.text(of: "out/dir.1") == "/get?as=dir")
  }

  @Test func `A template uses the name from the response`() async throws {
    _ = try await run(["/a/get?as=report.pdf", "/a/y.txt"], "-o", "{path}/{line}-{stem}-{n}.{ext}")
    #expect(folder.names(in: "out/a") == ["1-report-1.pdf", "2-y-2.txt"])
  }
}
