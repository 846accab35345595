import ArgumentParser
import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Runs that continue without their list, or with checksums that the earlier run did not have.
@Suite struct FetchRetryTests {
  private let folder: TemporaryFolder
  private let origin: Origin
  /// The requested paths, and those that are refused.
  private let asked = LockedBox<[String]>([])
  private let refused = LockedBox<Set<String>>([])

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
    origin.setScript(
      OriginScript(handler: { [asked, refused] request in
        asked.withLock { $0.append(request.path) }
        return refused.withLock { $0.contains(request.path) } ? .text("", status: 500) : nil
      }))
  }

  private func sum(_ count: Int) -> Checksum {
    var hash = SHA256()
    hash.update((0..<count).map(OriginAnswer.patternByte))
    return Checksum(hash)
  }

  private func run(_ options: [String], input: String = "") async throws -> Fetched {
    asked.withLock { $0 = [] }
    let arguments = ["-P", "@/out", "--session", "@/run", "--log", "@/log"] + options
    return try await FetchTrial(arguments, in: folder, input: input).finish()
  }

  /// The output of --dry-run.
  private func plan(_ options: [String]) async throws -> [Substring] {
    let streams = Run.Streams(
      input: try Descriptor.openForReading("/dev/null"), output: try Descriptor.create(folder.file("stdout")),
      messages: try Descriptor.create(folder.file("stderr")))
    defer { for stream in [streams.input, streams.output, streams.messages] { Descriptor.close(stream) } }
    let arguments = ["--dry-run", "-P", "@/out", "--session", "@/run"] + options
    let parsed = arguments.map { $0.hasPrefix("@/") ? folder.file(String($0.dropFirst(2))) : $0 }
    var dryRun = try DryRun(try FetchCommand.parse(parsed).options(), streams: streams)
    _ = await dryRun.run()
    return (folder.text(of: "stdout") ?? "").split(separator: "\n")
  }

  @Test func `Failures are repeated with the names, checksums and mirrors of their list`() async throws {
    let list = """
      \(origin.url("/bytes/5"))\t\(origin.url("/bytes/6").replacing("//", with: "//ada:secret@"))
        out=five
        checksum=sha-256=\(sum(6))
      \(origin.url("/bytes/7"))
        checksum=sha-256=\(sum(8))
      \(origin.url("/bytes/9"))

      """
    refused.withLock { $0 = ["/bytes/5", "/bytes/6", "/bytes/9"] }
    let first = try await run(["-i", "-", "--list-format", "aria2"], input: list)
    #expect(first.messages.contains("ok 0  failed 3  "))
    #expect(folder.text(of: "run")?.contains("secret") == false)
    refused.withLock { $0 = ["/bytes/5"] }
    #expect(try await plan(["--retry-failed"]).contains { $0.hasSuffix("\t" + folder.file("out/five")) })

    let second = try await run(["--retry-failed"])
    #expect(second.messages.contains("ok 2  failed 1  verified 1  "))
    #expect(folder.names(in: "out") == ["9", "five"])
    #expect(folder.bytes(of: "out/five")?.count == 6)
    #expect(second.record(origin.url("/bytes/7"))?.error == "checksum_mismatch")
    // A checksum that is given now replaces a wrong one.
    try folder.write("\(sum(7))  7\n", to: "sums")
    let third = try await run(["--retry-failed", "--checksum-file", "@/sums"])
    #expect(third.messages.contains("ok 1  failed 0  verified 1  "))
    #expect(asked.withLock { $0 } == ["/bytes/7"])
  }

  @Test func `Failures get the paths of a template with numbers, which only the list determines`() async throws {
    refused.withLock { $0 = ["/bytes/2", "/bytes/3"] }
    let list = (1...3).map { origin.url("/bytes/\($0)") + "\n" }.joined()
    #expect(try await run(["-i", "-", "-o", "{n}/{name}"], input: list).status == 8)
    refused.withLock { $0 = [] }
    #expect(try await run(["-o", "{n}/{name}", "--retry-failed"]).messages.contains("ok 2  failed 0  "))
    for count in 1...3 { #expect(folder.bytes(of: "out/\(count)/\(count)")?.count == count) }
    #expect(folder.names(in: "out") == ["1", "2", "3"])
  }

  @Test func `A corrected list takes precedence over the journal`() async throws {
    func list(_ name: String, _ checksum: Checksum) -> String {
      "\(origin.url("/bytes/5"))\n  out=\(name)\n  checksum=sha-256=\(checksum)\n"
    }
    let aria2 = ["-i", "-", "--list-format", "aria2"]
    #expect(try await run(aria2, input: list("wrong", sum(6))).status == 4)
    #expect(try await run(aria2 + ["--retry-failed"], input: list("right", sum(5))).status == 0)
    #expect(folder.names(in: "out") == ["right"])
  }

  @Test func `An existing file is compared once with a new checksum, and fetched again if it does not match`()
    async throws
  {
    let urls = [5, 6, 7].map { origin.url("/bytes/\($0)") }
    #expect(try await run(urls).status == 0)
    // The same length, with other bytes.
    try folder.write("broken", to: "out/6")
    try folder.write("\(sum(5))  5\n\(sum(6))  6\n", to: "sums")
    let sums = ["--checksum-file", "@/sums"]
    #expect(try await plan(sums + urls).map { $0.prefix { $0 != "\t" } } == ["done", "fetch", "done"])
    #expect(folder.text(of: "out/6") == "broken")
    let again = try await run(sums + urls)
    #expect(again.messages.contains("ok 1  failed 0  verified 1  done before 2  "), "\(again.messages)")
    #expect(asked.withLock { $0 } == ["/bytes/6"])
    #expect(folder.bytes(of: "out/6") == (0..<6).map(OriginAnswer.patternByte))
    // Checksums in the journal are not read again.
    try folder.write("12345", to: "out/5")
    #expect(try await run(sums + urls).messages.contains("ok 0  failed 0  done before 3  "))
    #expect(asked.withLock { $0 }.isEmpty)
    // A new checksum that matches no body: the file stays.
    try folder.write("\(sum(1))  6\n", to: "sums")
    #expect(try await run(sums + urls).status == 4)
    #expect(folder.bytes(of: "out/6")?.count == 6 && folder.names(in: "out") == ["5", "6", "7"])
  }

  @Test func `With -N a file that does not match is requested completely`() async throws {
    let url = origin.url("/bytes/6")
    #expect(try await run([url]).status == 0)
    try folder.write("broken", to: "out/6")
    try folder.write("\(sum(6))  6\n", to: "sums")
    #expect(try await run(["-N", "--checksum-file", "@/sums", url]).messages.contains("verified 1"))
    #expect(folder.bytes(of: "out/6") == (0..<6).map(OriginAnswer.patternByte))
  }
}
