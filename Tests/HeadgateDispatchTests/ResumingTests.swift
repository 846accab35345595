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
  @Test("the next download asks for the rest, and joins it")
  func rest() async throws {
    let trial = try ResumingTrial()
    try await trial.leavePart()
    #expect(trial.folder.names == ["a.part", "a.part.note"])
    let progress = LockedBox<[TransferProgress]>([])
    async let file = trial.bench.dispatcher.download(for: trial.request(), to: trial.destination) { step in
      progress.withLock { $0.append(step) }
    }
    trial.send(300_000..<700_000, over: try await trial.next(from: 300_000))
    let response = try await file.successful()
    #expect(response.statusCode == 206 && response.bytes == 700_000 && response.continuedFrom == 300_000)
    #expect(progress.withLock { $0 }.last == TransferProgress(bytes: 700_000, total: 700_000))
    #expect(trial.isWhole())
    #expect(await trial.bench.isCleanAtLast())
  }

  @Test("with a retry policy the next attempt asks for the rest, whatever the destination", arguments: [false, true])
  func attempts(isNoted: Bool) async throws {
    let trial = try ResumingTrial()
    let destination = isNoted ? trial.destination : .numbered(trial.folder.path + "/a")
    async let file = trial.download(try trial.request(attempts: 4), to: destination)
    var offset = 0
    for size in [300_000, 0, 7, 399_993] {
      let exchange = try await trial.next(from: offset == 0 ? nil : offset)
      let isLast = size == 399_993
      if offset == 0 {
        exchange.head(200, [.eTag: "\"1\""])
      } else {
        exchange.head(206, ResumingTrial.part(offset..<700_000))
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

  @Test("C03 a server that sends less than was requested is asked for the rest, without another attempt")
  func pieces() async throws {
    let trial = try ResumingTrial()
    try await trial.leavePart()
    async let file = trial.download()
    trial.send(300_000..<300_001, over: try await trial.next(from: 300_000))
    trial.send(300_001..<600_000, over: try await trial.next(from: 300_001))
    trial.send(600_000..<700_000, over: try await trial.next(from: 600_000))
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
    "C01 C02 if the rest is refused, or is that of another body, the whole body is requested at once",
    arguments: [
      Answer(status: 400), Answer(status: 403), Answer(status: 412), Answer(status: 206),
      Answer(status: 206, fields: ResumingTrial.part(299_999..<700_000)),
      Answer(status: 206, fields: ResumingTrial.part(300_000..<700_000, tag: "\"2\"")),
      Answer(status: 200, fields: ResumingTrial.part(300_000..<700_000)),
      Answer(status: 416, fields: [.contentRange: "bytes */200000"]),
    ])
  func useless(_ answer: Answer) async throws {
    let trial = try ResumingTrial()
    try await trial.leavePart()
    async let file = trial.download(try trial.request(attempts: 3))
    let refused = try await trial.next(from: 300_000)
    refused.head(answer.status, answer.fields)
    refused.body([1, 2, 3])
    refused.end()
    let whole = try await trial.next(from: nil)
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
    let trial = try ResumingTrial()
    async let file = trial.download(try trial.request(attempts: 2))
    try await trial.next(from: nil).respond(302, [.location: "http://b/signed?1"])
    let cut = try await trial.next(from: nil)
    #expect(cut.request.url == "http://b/signed?1")
    cut.head(200, [.eTag: "\"1\""])
    cut.body(Array(trial.body[..<300_000]))
    cut.end(DispatchError(.connectionLost, phase: .receiving))
    trial.bench.clock.advance(by: .zero)
    let again = try await trial.next(from: 300_000)
    #expect(again.request.url == "http://a/file")
    again.respond(302, [.location: "http://b/signed?2"])
    let expired = try await trial.next(from: 300_000)
    #expect(expired.request.url == "http://b/signed?2")
    expired.respond(403)
    let whole = try await trial.next(from: nil)
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
    let trial = try ResumingTrial()
    try await trial.leavePart()
    async let file = trial.download(try trial.request(attempts: 2))
    try await trial.next(from: 300_000).respond(302, [.location: "http://b/"])
    try await trial.next(from: 300_000).respond(412)
    try await trial.next(from: nil).respond(302, [.location: "http://b/"])
    let cut = try await trial.next(from: nil)
    cut.head()
    cut.body(Array(trial.body[..<300_000]))
    cut.end(DispatchError(.connectionLost, phase: .receiving))
    trial.bench.clock.advance(by: .zero)
    let whole = try await trial.next(from: nil)
    whole.head()
    whole.body(trial.body)
    whole.end()
    #expect(try await file.get().continuedFrom == 0 && trial.isWhole())
  }

  @Test("a server that refuses all requests for a while has not refused the range")
  func paused() async throws {
    let trial = try ResumingTrial()
    try await trial.leavePart()
    async let refused = trial.download()
    try await trial.next(from: 300_000).respond(403, [.retryAfter: "60"])
    #expect(try await refused.get().statusCode == 403 && trial.folder.names == ["a.part", "a.part.note"])
  }

  @Test("while a request waits for its next attempt, its file is closed")
  func suspended() async throws {
    let trial = try ResumingTrial()
    let path = trial.folder.path + "/a"
    for destination in [trial.destination, .numbered(path)] {
      async let file = trial.download(try trial.request(attempts: 2), to: destination)
      let exchange = try await trial.next(from: nil)
      exchange.head(200, [.eTag: "\"1\""])
      exchange.body(Array(trial.body[..<300_000]))
      exchange.end(DispatchError(.connectionLost, phase: .receiving))
      await trial.folder.waitForUnlocked("a.part", bytes: 300_000)
      trial.bench.clock.advance(by: .zero)
      trial.send(300_000..<700_000, over: try await trial.next(from: 300_000))
      #expect(try await file.get().bytes == 700_000 && trial.isWhole())
      try trial.folder.remove("a")
    }
  }

  @Test("a new version replaces the part; status 416 tells that nothing is missing")
  func versions() async throws {
    let trial = try ResumingTrial()
    try await trial.leavePart()
    async let file = trial.download()
    let exchange = try await trial.next(from: 300_000)
    exchange.head(200, [.eTag: "\"2\""])
    exchange.body(Array(trial.body[..<600_000]))
    exchange.end(DispatchError(.connectionLost, phase: .receiving))
    #expect(await file.code == .connectionLost)
    async let next = trial.download()
    let rest = try await trial.next(from: 600_000, "\"2\"")
    rest.head(206, ResumingTrial.part(600_000..<700_000, tag: "\"2\""))
    rest.body(Array(trial.body[600_000...]))
    rest.end(DispatchError(.connectionLost, phase: .receiving))
    #expect(await next.code == .connectionLost)
    async let last = trial.download()
    let complete = try await trial.next(from: 700_000, "\"2\"")
    complete.respond(416, [.contentRange: "bytes */700000"], body: "no such range")
    let response = try await last.get().successful()
    #expect(response.statusCode == 416 && response.bytes == 700_000 && response.continuedFrom == 700_000)
    #expect(trial.isWhole())
  }

  @Test("a refusal leaves the part for the next download", arguments: [304, 404, 500])
  func refusal(_ status: Int) async throws {
    let trial = try ResumingTrial()
    try await trial.leavePart()
    async let refused = trial.download()
    try await trial.next(from: 300_000).respond(status, body: "sorry")
    let response = try await refused.get()
    #expect(response.path == nil && response.bytes == 5 && response.continuedFrom == 0)
    #expect(throws: StatusError.self) { try response.successful() }
    async let file = trial.download()
    trial.send(300_000..<700_000, over: try await trial.next(from: 300_000))
    #expect(try await file.get().path != nil && trial.isWhole())
  }

  @Test(
    "without a strong validator nothing is continued, and no part stays",
    arguments: [[:], [.eTag: ""], [.eTag: "W/\"1\""], [.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"]] as [HTTPFields])
  func weak(_ fields: HTTPFields) async throws {
    let trial = try ResumingTrial()
    try await trial.leavePart(fields: fields)
    #expect(trial.folder.names == [])
    async let file = trial.download(try trial.request(attempts: 2))
    let first = try await trial.next(from: nil)
    first.head(200, fields)
    first.body([UInt8](repeating: 0, count: 400_000))
    first.end(DispatchError(.connectionLost, phase: .receiving))
    trial.bench.clock.advance(by: .zero)
    let second = try await trial.next(from: nil)
    second.head(200, fields)
    second.body(trial.body)
    second.end()
    #expect(try await file.get().bytes == 700_000 && trial.isWhole())
  }

  @Test("an encoded body is continued only over transports that do not decode it", arguments: [false, true])
  func encoded(isAsSent: Bool) async throws {
    let trial = try ResumingTrial(isAsSent ? .encodedBodies : [])
    try await trial.leavePart(fields: [.eTag: "\"1\"", .contentEncoding: "gzip"])
    #expect(trial.folder.names == (isAsSent ? ["a.part", "a.part.note"] : []))
  }

  @Test("a POST, and a range that the caller requests, are stored as they are")
  func others() async throws {
    let trial = try ResumingTrial()
    try await trial.leavePart()
    var ranged = try trial.request()
    ranged.headerFields[.range] = "bytes=0-3"
    async let file = trial.download(ranged)
    let exchange = try await trial.bench.transport.next()
    #expect(exchange.request.headerFields[.ifRange] == nil)
    exchange.respond(206, ResumingTrial.part(0..<4), body: "abcd")
    #expect(try await file.get().successful().bytes == 4)
    #expect(trial.folder.bytes("a") == Array("abcd".utf8) && trial.folder.names == ["a"])
    var posted = try trial.request()
    posted.method = .post
    async let answer = trial.download(posted)
    try await trial.next(from: nil).respond(200, [.eTag: "\"1\""], body: "answer")
    #expect(try await answer.get().bytes == 6 && trial.folder.bytes("a") == Array("answer".utf8))
  }

  @Test("a body that is not stored is read only as far as its connection is worth")
  func skipped() async throws {
    let trial = try ResumingTrial()
    async let file = trial.download()
    let exchange = try await trial.next(from: nil)
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
    let trial = try ResumingTrial()
    for destination in [trial.destination, .replacing(trial.folder.path + "/b")] {
      async let file = trial.download(to: destination)
      try await trial.next(from: nil).respond(status, ResumingTrial.part(0..<4), body: "abcd")
      let response = try await file.get()
      #expect(response.path == nil && trial.folder.names == [])
      #expect(throws: StatusError.self) { try response.successful() }
    }
  }

  @Test("the checksum covers what was there before, and the limit on the size too")
  func limits() async throws {
    let trial = try ResumingTrial()
    var sum = SHA256()
    sum.update(trial.body)
    var destination = trial.destination
    for (checksum, isRight) in [(Checksum(SHA256()), false), (Checksum(sum), true)] {
      try await trial.leavePart()
      destination.checksum = checksum
      async let file = trial.download(to: destination)
      trial.send(300_000..<700_000, over: try await trial.next(from: 300_000))
      #expect(await file.code == (isRight ? nil : .badResponse))
      #expect(trial.folder.names == (isRight ? ["a"] : []))
    }
    try trial.folder.remove("a")
    try await trial.leavePart()
    var limited = try trial.request()
    limited.maxDownloadBytes = 600_000
    async let tooLarge = trial.download(limited)
    let exchange = try await trial.next(from: 300_000)
    exchange.head(206, ResumingTrial.part(300_000..<700_000))
    #expect(await tooLarge.code == .bodyTooLarge && trial.folder.names == ["a.part", "a.part.note"])
    exchange.end(DispatchError(.cancelled))
  }
}
