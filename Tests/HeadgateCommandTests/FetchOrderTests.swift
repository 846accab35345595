import Foundation
import HeadgateOrigin
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Lists that are sorted by host.
@Suite struct FetchOrderTests {
  private let folder: TemporaryFolder
  private let origin: Origin

  init() throws {
    folder = try TemporaryFolder()
    origin = try Origin(endPoints: 2)
  }

  /// All lines of one host, then all of the other.
  private func list(_ each: Int, _ path: (Int) -> String) -> String {
    (0..<2).flatMap { host in (0..<each).map { origin.url(path(host * each + $0), endPoint: host) + "\n" } }.joined()
  }

  private func bothAreBusy() async -> Bool {
    for host in 0..<2 {
      guard await origin.waitUntil({ $0.requests == 1 }, endPoint: host, until: .after(.seconds(60))) else {
        return false
      }
    }
    return true
  }

  @Test(arguments: [(300, 3_000, "6"), (3_000, 10, "200")])
  func `No line is lost on disk, even if lines are long or many`(_ each: Int, _ length: Int, _ limit: String)
    async throws
  {
    let padding = String(repeating: "x", count: length)
    let trial = try FetchTrial(
      ["-i", "-", "-P", "@/out", "--per-host", limit], in: folder, input: list(each) { "/bytes/1?\($0)\(padding)" })
    let fetched = await trial.finish()
    #expect(fetched.status == 0)
    #expect(fetched.messages.contains("ok \(2 * each)  failed 0  bytes"))
  }

  @Test func `A host at the end of the list is busy while thousands of lines before it wait`() async throws {
    let each = Run.lookahead + 500
    let trial = try FetchTrial(
      ["-i", "-", "-P", "@/out", "--per-host", "1"], in: folder, input: list(each) { "/hold?\($0)" })
    async let fetched = trial.finish()
    #expect(await bothAreBusy())
    // Lines on disk are counted, however the list ends.
    trial.run.interrupt()
    origin.release()
    #expect(await fetched.status == 130)
    #expect(await fetched.messages.contains("ok 2  failed 0  skipped \(2 * each - 2)  "))
  }

  @Test func `A second interrupt counts the lines on disk`() async throws {
    let trial = try FetchTrial(
      ["-i", "-", "-P", "@/out", "--per-host", "1"], in: folder, input: list(50) { "/hold?\($0)" })
    async let fetched = trial.finish()
    #expect(await bothAreBusy())
    trial.run.interrupt()
    trial.run.interrupt()
    let messages = await fetched.messages
    // With a plus, unless the end of the input has been read by then.
    #expect(messages.contains("ok 0  failed 0  skipped 100"), "\(messages)")
  }

  @Test func `A deadline leaves lines on disk, and reports and counts them`() async throws {
    let fetched = try await fetch(
      "-i", "-", "-P", "@/out", "--per-host", "1", "--deadline", "1", "--log", "@/log", in: folder,
      input: list(50) { "/hold?\($0)" })
    #expect(fetched.status == 6)
    let failed = fetched.records.count
    #expect(failed < 100)
    #expect(fetched.messages.contains("ok 0  failed \(failed)  "))
    #expect(fetched.messages.contains("skipped \(100 - failed)  "))
    #expect(fetched.lines.count { $0.contains("before the end of the list") } == 1)
  }

  /// With and without room on the disk.
  @Test(arguments: ["4G", "1"]) func `Each line is fetched once, and equal names are numbered in the list's order`(
    held: String
  ) async throws {
    let counts = Locked<[String: Int]>([:])
    origin.setScript(
      OriginScript(handler: { request in
        counts.withLock { $0[request.path, default: 0] += 1 }
        return .text(request.path)
      }))
    let fetched = try await fetch(
      "-i", "-", "-P", "@/out", "--per-host", "2", "--max-held", held, "--log", "@/log", in: folder,
      input: list(200) { "/\($0)/same" })
    #expect(fetched.status == 0)
    #expect(fetched.messages.contains("ok 400  failed 0  bytes"))
    #expect(counts.withLock { $0.count == 400 && $0.values.allSatisfy { $0 == 1 } })
    for number in 0..<400 {
      #expect(folder.text(of: number == 0 ? "out/same" : "out/same.\(number)") == "/\(number)/same")
    }
    #expect(Set(fetched.records.map(\.url)).count == 400)
    #expect(origin.counts(endPoint: 0).peakSockets <= 2)
  }

  @Test func `A session checks a line from disk when its turn comes`() async throws {
    let arguments = ["-i", "-", "-P", "@/out", "--per-host", "1", "--session", "@/run"]
    let input = list(40) { "/bytes/\($0 + 1)" }
    let first = try await FetchTrial(arguments, in: folder, input: input).finish()
    #expect(first.messages.contains("ok 80  failed 0  bytes"))
    try FileManager.default.removeItem(atPath: folder.file("out/7"))
    let second = try await FetchTrial(arguments, in: folder, input: input).finish()
    #expect(second.messages.contains("ok 1  failed 0  done before 79  "))
    for number in 1...80 { #expect(folder.bytes(of: "out/\(number)")?.count == number) }
  }
}
