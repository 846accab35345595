import ArgumentParser
import Foundation
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Lists to files whose paths come from a template.
@Suite struct FetchTemplateTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin(script: OriginScript(handler: { $0.path.hasPrefix("/status") ? nil : .text($0.target) }))
  }

  /// The files below a folder, sorted.
  private func files(in name: String = "out") -> [String] {
    (FileManager.default.enumerator(atPath: folder.file(name))?.compactMap { $0 as? String } ?? [])
      .filter { !FileManager.default.fileExists(atPath: folder.file("\(name)/\($0)/")) }.sorted()
  }

  private func run(_ paths: [String], _ arguments: String...) async throws -> Fetched {
    let list = paths.map { origin.url($0) + "\n" }.joined()
    return await (try FetchTrial(["-i", "-", "-P", "@/out", "--log", "@/log"] + arguments, in: folder, input: list))
      .finish()
  }

  @Test(arguments: [[], ["--session", "@/run"]])
  func `Folders are created as the template specifies`(session: [String]) async throws {
    let paths = ["/a/b/x.txt", "/a/y.txt?p=1", "/z", "/a/b/"]
    let trial = try FetchTrial(
      paths.map { origin.url($0) } + ["-P", "@/out", "-o", "{host}/{path}/{n:2}-{stem}.{ext}", "--log", "@/log"]
        + session,
      in: folder)
    let fetched = await trial.finish()
    #expect(fetched.status == 0, "\(fetched.messages)")
    #expect(
      files() == [
        "127.0.0.1/03-z", "127.0.0.1/a/02-y?p=1.txt", "127.0.0.1/a/b/01-x.txt", "127.0.0.1/a/b/04-index.html",
      ])
    #expect(folder.text(of: "out/127.0.0.1/a/02-y?p=1.txt") == "/a/y.txt?p=1")
    #expect(fetched.record(origin.url("/a/b/x.txt"))?.file == folder.file("out/127.0.0.1/a/b/01-x.txt"))
    #expect(fetched.lines.count == 1)
  }

  @Test func `Files with one path are numbered in the order of the list, which is reported once`() async throws {
    let fetched = try await run((0..<5).map { "/\($0)/x" }, "-o", "d/{name}")
    #expect(files() == ["d/x", "d/x.1", "d/x.2", "d/x.3", "d/x.4"])
    #expect((0..<5).map { folder.text(of: "out/d/x" + ($0 == 0 ? "" : ".\($0)")) } == (0..<5).map { "/\($0)/x" })
    let said = fetched.lines.filter {
      $0.contains("several URLs have the path d/x, and all but the first are numbered, such as d/x.1")
    }
    #expect(said.count == 1 && fetched.lines.count == 2)
  }

  @Test func `A page and the files below it can coexist`() async throws {
    let fetched = try await run(["/a", "/a/b", "/a/b/c"], "-o", "{path}/{name}")
    #expect(fetched.status == 0 && files() == ["a", "a.1/b", "a.1/b.1/c"])
  }

  @Test func `Folders of failed URLs are removed`() async throws {
    let fetched = try await run(["/status/404", "/a/x"], "-o", "{path}/{hash:2}/{name}")
    #expect(fetched.status == 8)
    #expect(folder.names(in: "out") == ["a"])
  }

  @Test func `A session remembers its paths, even if the template changes`() async throws {
    let paths = ["/a/x", "/b/x", "/c/x"]
    _ = try await run(paths, "-o", "d/{name}", "--session", "@/run")
    #expect(files() == ["d/x", "d/x.1", "d/x.2"])
    try FileManager.default.removeItem(atPath: folder.file("out/d"))
    let again = try await run(paths.reversed() + ["/d/x"], "-o", "d/{name}", "--session", "@/run")
    #expect(again.messages.contains("ok 4  failed 0  bytes"), "\(again.messages)")
    #expect(["x", "x.1", "x.2", "x.3"].map { folder.text(of: "out/d/\($0)") } == paths + ["/d/x"])
    let other = try await run(paths, "-o", "{n}", "--session", "@/run")
    #expect(other.messages.contains("done before 3") && files().count == 4)
  }

  @Test func `A file that another program has put into a folder of a session stays`() async throws {
    _ = try await run(["/a/x"], "-o", "{path}/{name}", "--session", "@/run")
    try folder.write("mine", to: "out/a/y")
    _ = try await run(["/a/x", "/a/y"], "-o", "{path}/{name}", "--session", "@/run")
    #expect(folder.text(of: "out/a/y") == "mine" && folder.text(of: "out/a/y.1") == "/a/y")
  }

  @Test func `A plain name is that of the file, in the current folder without -P`() throws {
    let options = try FetchCommand.parse(["http://a/", "-o", "page.html"]).options()
    #expect(options.target == .folder(".") && options.template?.text == "page.html")
    #expect(try FetchCommand.parse(["http://a/", "-opage.html", "-P", "x"]).options().target == .folder("x"))
  }

  @Test func `A folder that can't be created is a failure of its URL`() async throws {
    let hold = Locked(true)
    let folder = folder
    // A file takes the folder's place after its name was reserved.
    origin.setScript(
      OriginScript(handler: { request in
        if request.path == "/first", hold.exchange(false) { try? folder.write("mine", to: "out/d") }
        return .text("x")
      }))
    let fetched = try await run(["/first", "/d/x"], "-o", "{path}/{name}", "--per-host", "1")
    // The second one may have created its folder before.
    #expect(fetched.status == 3 ? fetched.messages.contains("making the folder of ") : fetched.status == 0)
  }
}
