import Foundation
import HeadgateDispatch
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// The file that `--log` writes.
@Suite struct LogFileTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin()
  }

  @Test func `A new log is readable only by its owner; an existing one keeps its mode`() async throws {
    #expect(try await fetch(origin.url("/"), "--log", "@/log", in: folder).status == 0)
    #expect(folder.mode(of: "log") == 0o600)
    try #require(chmod(folder.file("log"), 0o644) == 0)
    let again = try await fetch(origin.url("/"), "--log", "@/log", in: folder)
    #expect(again.records.count == 1)
    #expect(folder.mode(of: "log") == 0o644)
  }

  @Test(.timeLimit(.minutes(1))) func `A pipe without a reader is an error and not a hang`() throws {
    try #require(mkfifo(folder.file("log"), 0o600) == 0)
    let error = #expect(throws: FetchProblem.self) {
      _ = try FetchTrial([origin.url("/"), "--log", "@/log"], in: folder)
    }
    #expect(error?.status == .file)
    #expect(error?.description.hasSuffix("log can't be written: it is a pipe without a reader, or a socket") == true)
  }

  @Test func `A planted link is not followed, and is an error that names it`() throws {
    try folder.write("mine", to: "victim")
    for target in ["victim", "none"] {
      try FileManager.default.createSymbolicLink(
        atPath: folder.file("link-\(target)"), withDestinationPath: folder.file(target))
      let error = #expect(throws: FetchProblem.self) {
        _ = try FetchTrial([origin.url("/"), "--log", "@/link-\(target)"], in: folder)
      }
      #expect(error?.status == .file)
      #expect(error?.description.contains("link-\(target) can't be written: it is a symbolic link") == true)
    }
    #expect(folder.text(of: "victim") == "mine")
    #expect(folder.bytes(of: "none") == nil)
  }

  @Test(.enabled("only root can give files away") { geteuid() == 0 })
  func `A file of another user is not changed`() throws {
    try folder.write("theirs", to: "log")
    try #require(mkfifo(folder.file("pipe"), 0o600) == 0)
    let reader = try Descriptor.openForReading(folder.file("pipe"))
    for name in ["log", "pipe"] {
      try #require(chown(folder.file(name), 4711, 4711) == 0)
      #expect(throws: CreationError.foreign) { try Descriptor.create(folder.file(name)) }
    }
    Descriptor.close(reader)
    #expect(folder.text(of: "log") == "theirs")
    // Nor is a journal continued whose owner could read later additions, or could have written false entries.
    let error = #expect(throws: SystemError.self) { try Descriptor.openJournal(folder.file("log")) }
    #expect(error?.errno == EPERM)
    let refused = #expect(throws: FetchProblem.self) { try ResultsFile.open(folder.file("log")) { _ in } }
    #expect(refused.map { "\($0)".contains("another user owns it") } == true)
    #expect(folder.text(of: "log") == "theirs")
  }

  /// A link to a pipe is followed, like /dev/stderr.
  @Test(arguments: ["pipe", "link"])
  func `A pipe with a reader receives the log, also through a link, and blocks as usual`(name: String) throws {
    try #require(mkfifo(folder.file("pipe"), 0o600) == 0)
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: folder.file("pipe"))
    let reader = try Descriptor.openForReading(folder.file("pipe"))
    let writer = try Descriptor.create(folder.file(name))
    #expect(fcntl(writer, F_GETFL) & O_NONBLOCK == 0)
    try Descriptor.write([1, 2], to: writer)
    #expect(try Descriptor.read(reader, atMost: 4) == [1, 2])
    Descriptor.close(reader)
    Descriptor.close(writer)
  }

  @Test func `Devices can be written`() throws {
    for path in ["/dev/null", "/dev/full"] { Descriptor.close(try Descriptor.create(path)) }
  }

  @Test func `A waiting body is in a file that no other user can open`() throws {
    let descriptor = try Descriptor.temporary()
    var info = stat()
    try #require(fstat(descriptor, &info) == 0)
    #expect(info.st_nlink == 0)
    #expect(info.st_mode & 0o777 == 0o600)
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    Descriptor.close(descriptor)
  }

  @Test func `The log says what each URL waited for, and the sum is its time in the queue`() async throws {
    origin.setScript(OriginScript(delay: .milliseconds(200)))
    let urls = (1...4).map { origin.url("/bytes/\($0)") }
    let fetched = try await fetch(
      "-i", "-", "-P", "@/out", "--per-host", "1", "--log", "@/log", in: folder, input: urls.joined(separator: "\n"))
    #expect(fetched.status == 0 && fetched.records.count == 4)
    #expect((fetched.records.compactMap { $0.waited?["limit"] }.max() ?? 0) >= 0.2)
    #expect(fetched.records.contains { $0.waited == nil })
    for record in fetched.records {
      let (waited, queued) = (record.waited ?? [:], try #require(record.queued))
      #expect(abs(waited.values.reduce(0, +) - queued) < 0.001)
      // A slow machine may deliver a permit late, which counts as waiting for a turn.
      #expect(Set(waited.keys).isSubset(of: ["limit", "turn"]))
    }
  }

  @Test func `Under a rate, the log says that URLs waited for the rate`() async throws {
    let urls = (1...3).map { origin.url("/bytes/\($0)") }
    let fetched = try await fetch(
      "-i", "-", "-P", "@/out", "--rate", "10/s", "--log", "@/log", in: folder, input: urls.joined(separator: "\n"))
    #expect(fetched.records.count == 3)
    #expect((fetched.records.compactMap { $0.waited?["rate"] }.max() ?? 0) >= 0.1)
    #expect(fetched.records.allSatisfy { $0.waited?["limit"] == nil })
  }
}
