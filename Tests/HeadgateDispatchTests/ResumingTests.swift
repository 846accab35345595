import HTTPTypes
import HeadgateFlow
import HeadgateLibC
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Downloads that continue what an earlier attempt, or an earlier download, has stored.
@Suite struct ResumingTests {
  /// A folder, and downloads to a file in it.
  private struct Trial {
    let folder: DownloadFolder
    let bench: Bench
    let body = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 3) }

    init(_ capabilities: TransportCapabilities = .encodedBodies) throws {
      folder = try DownloadFolder()
      bench = try Bench(transport: ScriptedTransport(capabilities: capabilities))
    }

    var destination: FileDestination { .resuming(folder.path + "/a") }

    func request(attempts: Int = 1) throws -> DispatchRequest {
      var request = try bench.request("/file")
      request.retry = RetryPolicy(attempts: attempts, backoff: .none)
      return request
    }

    func download(
      _ request: DispatchRequest? = nil, to destination: FileDestination? = nil
    ) async -> Result<FileResponse, DispatchError> {
      guard let request = try? request ?? self.request() else { return .failure(DispatchError(.invalidURL)) }
      do throws(DispatchError) {
        return .success(try await bench.dispatcher.download(for: request, to: destination ?? self.destination))
      } catch { return .failure(error) }
    }

    /// The exchange of the next request, which must ask for the rest from an offset, or for everything.
    func next(from offset: Int?, _ tag: String = "\"1\"") async -> ScriptedExchange {
      let exchange = await bench.transport.next()
      #expect(exchange.request.headerFields[.range] == offset.map { "bytes=\($0)-" })
      #expect(exchange.request.headerFields[.ifRange] == offset.map { _ in tag })
      return exchange
    }

    /// Leaves a part with the beginning of the body.
    func leavePart(_ size: Int = 300_000, fields: HTTPFields = [.eTag: "\"1\""]) async throws {
      async let cut = download()
      let exchange = await next(from: nil)
      exchange.head(200, fields)
      exchange.body(Array(body[..<size]))
      exchange.end(DispatchError(.connectionLost, phase: .receiving))
      #expect(await cut.code == .connectionLost)
    }

    /// The fields of a part of the body.
    static func part(_ range: Range<Int>, of total: Int = 700_000, tag: String? = "\"1\"") -> HTTPFields {
      var fields: HTTPFields = [.contentRange: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"]
      fields[.eTag] = tag
      return fields
    }

    func send(_ range: Range<Int>, over exchange: ScriptedExchange) {
      exchange.head(206, Self.part(range))
      exchange.body(Array(body[range]))
      exchange.end()
    }

    /// Nothing is left but the whole file.
    func isWhole(_ name: String = "a") -> Bool { folder.names == [name] && folder.bytes(name) == body }
  }

  @Test("the next download asks for the rest, and joins it")
  func rest() async throws {
    let trial = try Trial()
    try await trial.leavePart()
    #expect(trial.folder.names == ["a.part", "a.part.note"])
    let progress = LockedBox<[TransferProgress]>([])
    async let file = trial.bench.dispatcher.download(for: trial.request(), to: trial.destination) { step in
      progress.withLock { $0.append(step) }
    }
    trial.send(300_000..<700_000, over: await trial.next(from: 300_000))
    let response = try await file.successful()
    #expect(response.statusCode == 206 && response.bytes == 700_000 && response.continuedFrom == 300_000)
    #expect(progress.withLock { $0 }.last == TransferProgress(bytes: 700_000, total: 700_000))
    #expect(trial.isWhole())
    #expect(await trial.bench.isCleanAtLast())
  }

  @Test("with a retry policy the next attempt asks for the rest, whatever the destination", arguments: [false, true])
  func attempts(isNoted: Bool) async throws {
    let trial = try Trial()
    let destination = isNoted ? trial.destination : .numbered(trial.folder.path + "/a")
    async let file = trial.download(try trial.request(attempts: 4), to: destination)
    var offset = 0
    for size in [300_000, 0, 7, 399_993] {
      let exchange = await trial.next(from: offset == 0 ? nil : offset)
      let isLast = size == 399_993
      if offset == 0 {
        exchange.head(200, [.eTag: "\"1\""])
      } else {
        exchange.head(206, Trial.part(offset..<700_000))
      }
      exchange.body(Array(trial.body[offset..<offset + size]))
      offset += size
      exchange.end(isLast ? nil : DispatchError(.connectionLost, phase: .receiving))
      if !isLast { trial.bench.clock.advance(by: .zero) }
    }
    let response = try await file.get()
    #expect(response.bytes == 700_000 && response.continuedFrom == 0 && response.times.attempts == 4)
    #expect(trial.isWhole())
    #expect(await trial.bench.isCleanAtLast())
  }

  @Test("a server that sends less than was requested is asked for the rest, without another attempt")
  func pieces() async throws {
    let trial = try Trial()
    try await trial.leavePart()
    async let file = trial.download()
    trial.send(300_000..<300_001, over: await trial.next(from: 300_000))
    trial.send(300_001..<600_000, over: await trial.next(from: 300_001))
    trial.send(600_000..<700_000, over: await trial.next(from: 600_000))
    #expect(try await file.get().times.attempts == 1)
    #expect(trial.isWhole() && trial.bench.counts.peak == 1)
  }

  /// An answer that makes a part useless.
  struct Answer: CustomTestStringConvertible {
    let status: Int
    var fields: HTTPFields = [:]
    var testDescription: String { "\(status) \(fields[.contentRange] ?? "") \(fields[.eTag] ?? "")" }
  }

  @Test(
    "if the rest is refused, or is that of another body, the whole body is requested at once",
    arguments: [
      Answer(status: 400), Answer(status: 403), Answer(status: 412), Answer(status: 206),
      Answer(status: 206, fields: Trial.part(299_999..<700_000)),
      Answer(status: 206, fields: Trial.part(300_000..<700_000, tag: "\"2\"")),
      Answer(status: 200, fields: Trial.part(300_000..<700_000)),
      Answer(status: 416, fields: [.contentRange: "bytes */200000"]),
    ])
  func useless(_ answer: Answer) async throws {
    let trial = try Trial()
    try await trial.leavePart()
    async let file = trial.download(try trial.request(attempts: 3))
    let refused = await trial.next(from: 300_000)
    refused.head(answer.status, answer.fields)
    refused.body([1, 2, 3])
    refused.end()
    let whole = await trial.next(from: nil)
    whole.head(200, [.eTag: "\"2\""])
    whole.body(trial.body)
    whole.end()
    let response = try await file.get()
    #expect(response.continuedFrom == 0 && response.times.attempts == 1)
    #expect(trial.isWhole())
    #expect(await trial.bench.isCleanAtLast())
  }

  @Test("after redirects the rest is requested from the first URL, whose target may have changed")
  func redirected() async throws {
    let trial = try Trial()
    async let file = trial.download(try trial.request(attempts: 2))
    await trial.next(from: nil).respond(302, [.location: "http://b/signed?1"])
    let cut = await trial.next(from: nil)
    #expect(cut.request.url == "http://b/signed?1")
    cut.head(200, [.eTag: "\"1\""])
    cut.body(Array(trial.body[..<300_000]))
    cut.end(DispatchError(.connectionLost, phase: .receiving))
    trial.bench.clock.advance(by: .zero)
    let again = await trial.next(from: 300_000)
    #expect(again.request.url == "http://a/file")
    again.respond(302, [.location: "http://b/signed?2"])
    let expired = await trial.next(from: 300_000)
    #expect(expired.request.url == "http://b/signed?2")
    expired.respond(403)
    let whole = await trial.next(from: nil)
    #expect(whole.request.url == "http://a/file")
    whole.head(200, [.eTag: "\"1\""])
    whole.body(trial.body)
    whole.end()
    let response = try await file.get()
    #expect(response.head.redirects == [] && response.times.attempts == 2 && trial.isWhole())
    #expect(await trial.bench.isCleanAtLast())
  }

  @Test("a range that was refused is not asked for again")
  func forgotten() async throws {
    let trial = try Trial()
    try await trial.leavePart()
    async let file = trial.download(try trial.request(attempts: 2))
    await trial.next(from: 300_000).respond(302, [.location: "http://b/"])
    await trial.next(from: 300_000).respond(412)
    await trial.next(from: nil).respond(302, [.location: "http://b/"])
    let cut = await trial.next(from: nil)
    cut.head()
    cut.body(Array(trial.body[..<300_000]))
    cut.end(DispatchError(.connectionLost, phase: .receiving))
    trial.bench.clock.advance(by: .zero)
    let whole = await trial.next(from: nil)
    whole.head()
    whole.body(trial.body)
    whole.end()
    #expect(try await file.get().continuedFrom == 0 && trial.isWhole())
  }

  @Test("a server that refuses all requests for a while has not refused the range")
  func paused() async throws {
    let trial = try Trial()
    try await trial.leavePart()
    async let refused = trial.download()
    await trial.next(from: 300_000).respond(403, [.retryAfter: "60"])
    #expect(try await refused.get().statusCode == 403 && trial.folder.names == ["a.part", "a.part.note"])
  }

  @Test("while a request waits for its next attempt, its file is closed")
  func suspended() async throws {
    let trial = try Trial()
    let path = trial.folder.path + "/a"
    for destination in [trial.destination, .numbered(path)] {
      async let file = trial.download(try trial.request(attempts: 2), to: destination)
      let exchange = await trial.next(from: nil)
      exchange.head(200, [.eTag: "\"1\""])
      exchange.body(Array(trial.body[..<300_000]))
      exchange.end(DispatchError(.connectionLost, phase: .receiving))
      await trial.folder.waitForUnlocked("a.part", bytes: 300_000)
      trial.bench.clock.advance(by: .zero)
      trial.send(300_000..<700_000, over: await trial.next(from: 300_000))
      #expect(try await file.get().bytes == 700_000 && trial.isWhole())
      try trial.folder.remove("a")
    }
  }

  @Test("a new version replaces the part; status 416 tells that nothing is missing")
  func versions() async throws {
    let trial = try Trial()
    try await trial.leavePart()
    async let file = trial.download()
    let exchange = await trial.next(from: 300_000)
    exchange.head(200, [.eTag: "\"2\""])
    exchange.body(Array(trial.body[..<600_000]))
    exchange.end(DispatchError(.connectionLost, phase: .receiving))
    #expect(await file.code == .connectionLost)
    async let next = trial.download()
    let rest = await trial.next(from: 600_000, "\"2\"")
    rest.head(206, Trial.part(600_000..<700_000, tag: "\"2\""))
    rest.body(Array(trial.body[600_000...]))
    rest.end(DispatchError(.connectionLost, phase: .receiving))
    #expect(await next.code == .connectionLost)
    async let last = trial.download()
    let complete = await trial.next(from: 700_000, "\"2\"")
    complete.respond(416, [.contentRange: "bytes */700000"], body: "no such range")
    let response = try await last.get().successful()
    #expect(response.statusCode == 416 && response.bytes == 700_000 && response.continuedFrom == 700_000)
    #expect(trial.isWhole())
  }

  @Test("a refusal leaves the part for the next download", arguments: [304, 404, 500])
  func refusal(_ status: Int) async throws {
    let trial = try Trial()
    try await trial.leavePart()
    async let refused = trial.download()
    await trial.next(from: 300_000).respond(status, body: "sorry")
    let response = try await refused.get()
    #expect(response.path == nil && response.bytes == 5 && response.continuedFrom == 0)
    #expect(throws: StatusError.self) { try response.successful() }
    async let file = trial.download()
    trial.send(300_000..<700_000, over: await trial.next(from: 300_000))
    #expect(try await file.get().path != nil && trial.isWhole())
  }

  @Test(
    "without a strong validator nothing is continued, and no part stays",
    arguments: [[:], [.eTag: ""], [.eTag: "W/\"1\""], [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"]] as [HTTPFields])
  func weak(_ fields: HTTPFields) async throws {
    let trial = try Trial()
    try await trial.leavePart(fields: fields)
    #expect(trial.folder.names == [])
    async let file = trial.download(try trial.request(attempts: 2))
    let first = await trial.next(from: nil)
    first.head(200, fields)
    first.body([UInt8](repeating: 0, count: 400_000))
    first.end(DispatchError(.connectionLost, phase: .receiving))
    trial.bench.clock.advance(by: .zero)
    let second = await trial.next(from: nil)
    second.head(200, fields)
    second.body(trial.body)
    second.end()
    #expect(try await file.get().bytes == 700_000 && trial.isWhole())
  }

  @Test("an encoded body is continued only over transports that do not decode it", arguments: [false, true])
  func encoded(isAsSent: Bool) async throws {
    let trial = try Trial(isAsSent ? .encodedBodies : [])
    try await trial.leavePart(fields: [.eTag: "\"1\"", .contentEncoding: "gzip"])
    #expect(trial.folder.names == (isAsSent ? ["a.part", "a.part.note"] : []))
  }

  @Test("a POST, and a range that the caller requests, are stored as they are")
  func others() async throws {
    let trial = try Trial()
    try await trial.leavePart()
    var ranged = try trial.request()
    ranged.headerFields[.range] = "bytes=0-3"
    async let file = trial.download(ranged)
    let exchange = await trial.bench.transport.next()
    #expect(exchange.request.headerFields[.ifRange] == nil)
    exchange.respond(206, Trial.part(0..<4), body: "abcd")
    #expect(try await file.get().successful().bytes == 4)
    #expect(trial.folder.bytes("a") == Array("abcd".utf8) && trial.folder.names == ["a"])
    var posted = try trial.request()
    posted.method = .post
    async let answer = trial.download(posted)
    await trial.next(from: nil).respond(200, [.eTag: "\"1\""], body: "answer")
    #expect(try await answer.get().bytes == 6 && trial.folder.bytes("a") == Array("answer".utf8))
  }

  @Test("a body that is not stored is read only as far as its connection is worth")
  func skipped() async throws {
    let trial = try Trial()
    async let file = trial.download()
    let exchange = await trial.next(from: nil)
    exchange.head(404)
    #expect(exchange.body([UInt8](repeating: 7, count: 60_000)) == .more)
    #expect(exchange.body([UInt8](repeating: 7, count: 10_000)) == .abort)
    exchange.end(DispatchError(.cancelled, phase: .receiving))
    let response = try await file.get()
    #expect(response.statusCode == 404 && response.path == nil && response.bytes == 60_000)
    #expect(await trial.bench.isCleanAtLast())
  }

  @Test("a part that nobody asked for is no file", arguments: [200, 206])
  func unasked(_ status: Int) async throws {
    let trial = try Trial()
    for destination in [trial.destination, .replacing(trial.folder.path + "/b")] {
      async let file = trial.download(to: destination)
      await trial.next(from: nil).respond(status, Trial.part(0..<4), body: "abcd")
      let response = try await file.get()
      #expect(response.path == nil && trial.folder.names == [])
      #expect(throws: StatusError.self) { try response.successful() }
    }
  }

  @Test("what is not this download's is not continued: another URL, another file, another boot, a torn note")
  func strangers() async throws {
    let note = "a.part.note"
    let changes: [(String, (Trial) throws -> Void)] = [
      ("another file", { try $0.folder.write([UInt8](repeating: 7, count: 400_000), to: "a.part") }),
      ("another boot", { trial in try trial.folder.edit(note) { $0.replacing(Descriptor.boot() ?? "?", with: "b") } }),
      ("torn", { trial in try trial.folder.edit(note) { String($0.dropLast(10)) } }),
      ("emptied", { trial in try trial.folder.edit(note) { _ in "" } }),
      ("no part", { try $0.folder.remove("a.part") }),
    ]
    for (name, change) in changes {
      let trial = try Trial()
      try await trial.leavePart()
      try change(trial)
      async let file = trial.download()
      let exchange = await trial.next(from: nil)
      exchange.head(200, [.eTag: "\"1\""])
      exchange.body(trial.body)
      exchange.end()
      #expect(try await file.get().continuedFrom == 0 && trial.isWhole(), "\(name)")
    }
    let trial = try Trial()
    try await trial.leavePart()
    async let other = trial.download(try trial.bench.request("/other"))
    await trial.next(from: nil).respond(200, body: "other")
    #expect(try await other.get().bytes == 5 && trial.folder.names == ["a"])
  }

  @Test("a part or a note of another program stays, and so does what is no regular file", arguments: [5, 300_000])
  func foreign(_ size: Int) async throws {
    for (name, kind) in [("a.part", "file"), ("a.part", "pipe"), ("a.part.note", "file"), ("a", "folder")] {
      let trial = try Trial()
      switch kind {
      case "folder": try trial.folder.makeFolder(name)
      case "pipe": #expect(mkfifo(trial.folder.path + "/" + name, 0o600) == 0)
      default: try trial.folder.write(Array("theirs".utf8), to: name)
      }
      async let file = trial.download()
      let exchange = await trial.next(from: nil)
      exchange.head(200, [.eTag: "\"1\""])
      exchange.body(Array(trial.body[..<size]))
      exchange.end()
      let error = await file.error
      #expect(
        error?.code == .fileFailed && error?.detail.contains(trial.folder.path + "/" + name) == true, "\(error as Any)")
      #expect(trial.folder.names == [name])
    }
  }

  @Test("two downloads at once do not write into one part")
  func two() async throws {
    let trial = try Trial()
    async let first = trial.download()
    let one = await trial.next(from: nil)
    one.head(200, [.eTag: "\"1\""])
    one.body(Array(trial.body[..<300_000]))
    await trial.folder.waitFor("a.part", bytes: 262_144)
    let note = trial.folder.bytes("a.part.note")
    async let second = trial.download()
    let other = await trial.bench.transport.next()
    other.head(200, [.eTag: "\"1\""])
    other.body(Array(trial.body[..<300_000]))
    let error = await second.error
    #expect(
      error?.code == .fileFailed && error?.detail.contains("another download is writing") == true, "\(error as Any)")
    #expect(trial.folder.bytes("a.part.note") == note)
    one.body(Array(trial.body[300_000...]))
    one.end()
    #expect(try await first.get().bytes == 700_000 && trial.isWhole())
    other.end(DispatchError(.cancelled))
  }

  @Test("the checksum covers what was there before, and the limit on the size too")
  func limits() async throws {
    let trial = try Trial()
    var sum = SHA256()
    sum.update(trial.body)
    var destination = trial.destination
    for (checksum, isRight) in [(Checksum(SHA256()), false), (Checksum(sum), true)] {
      try await trial.leavePart()
      destination.checksum = checksum
      async let file = trial.download(to: destination)
      trial.send(300_000..<700_000, over: await trial.next(from: 300_000))
      #expect(await file.code == (isRight ? nil : .badResponse))
      #expect(trial.folder.names == (isRight ? ["a"] : []))
    }
    try trial.folder.remove("a")
    try await trial.leavePart()
    var limited = try trial.request()
    limited.maxDownloadBytes = 600_000
    async let tooLarge = trial.download(limited)
    let exchange = await trial.next(from: 300_000)
    exchange.head(206, Trial.part(300_000..<700_000))
    #expect(await tooLarge.code == .bodyTooLarge && trial.folder.names == ["a.part", "a.part.note"])
    exchange.end(DispatchError(.cancelled))
  }

  @Test("runs that end at random moments, by a kill or in order, with torn notes: the file is always one version")
  func random() async throws {
    var (wentOn, finished) = (0, 0)
    for seed in 0..<150 {
      var random = SeededRandom(seed: UInt64(seed))
      let folder = try DownloadFolder()
      var version = 1
      for run in 0..<20 {
        if Int.random(in: 0..<6, using: &random) == 0 { version += 1 }
        let size = 100 + version * 700 % 3000
        func bytes(_ range: Range<Int>) -> [UInt8] {
          range.map { [version] in UInt8(truncatingIfNeeded: ($0 ^ seed) &* (2 * version + 1)) }
        }
        if Int.random(in: 0..<10, using: &random) == 0, let note = folder.bytes("a.part.note") {
          try folder.write(Array(note.prefix(Int.random(in: 0...note.count, using: &random))), to: "a.part.note")
        }
        let note = PartNote(.resuming(folder.path + "/a"), of: try DispatchRequest("http://a/"))
        let part = note.look()
        let store = NotedPart(note)
        let validator = Validator(tag: "\"\(version)\"")
        var place = 0
        if let part, part.validator == validator {
          try store.goOn(after: part)
          place = part.size
          wentOn += 1
        } else {
          store.begin(validator)
        }
        #expect(place <= size, "\(seed) \(run)")
        while place < size, Int.random(in: 0..<8, using: &random) > 0 {
          let end = min(size, place + Int.random(in: 1...800, using: &random))
          try store.append(bytes(place..<end))
          place = end
        }
        guard place == size else {
          switch Int.random(in: 0..<3, using: &random) {
          // A kill leaves everything as it is.
          case 0: continue
          case 1: store.leave(bytes(place..<min(place + 10, size)))
          default: store.drop()
          }
          continue
        }
        let whole = CompleteBody(rest: [], size: size, validator: validator, checksum: nil, modified: nil)
        store.finish(whole) { result in #expect(throws: Never.self) { try result.get() } }
        #expect(folder.names == ["a"] && folder.bytes("a") == bytes(0..<size), "\(seed) \(run)")
        finished += 1
      }
    }
    #expect(wentOn > 100 && finished > 100)
  }
}
