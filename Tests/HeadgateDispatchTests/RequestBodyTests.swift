import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A sequence of pieces that a test provides, and that records how it is used.
final class PieceSource: Sendable {
  private struct State {
    var asked = 0
    var made = 0
    var waiters: [(count: Int, go: @Sendable () -> Void)] = []
  }

  private let state = Locked(State())
  private let pieces: @Sendable (Int) async throws -> [UInt8]?
  /// Opened when a task that waited for a piece was cancelled.
  let cancelled = Gate()

  /// - Parameter pieces: Returns the piece of an index, or nil after the last.
  init(_ pieces: @escaping @Sendable (Int) async throws -> [UInt8]?) { self.pieces = pieces }

  /// How many pieces were requested, and how many sequences were made.
  var asked: Int { state.withLock { $0.asked } }
  var made: Int { state.withLock { $0.made } }

  func asked(_ count: Int) async {
    await withContinuation { continuation in
      let isThere = state.withLock { state in
        if state.asked >= count { return true }
        state.waiters.append((count, { continuation.resume() }))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  var sequence: some AsyncSequence<[UInt8], any Error> & Sendable {
    state.withLock { $0.made += 1 }
    let index = LockedBox(0)
    return AsyncThrowingStream<[UInt8], any Error> { [self] in
      let number = index.withLock { index in
        defer { index += 1 }
        return index
      }
      let ready = state.withLock { state in
        state.asked += 1
        let ready = state.waiters.filter { $0.count <= state.asked }
        state.waiters.removeAll { $0.count <= state.asked }
        return ready
      }
      for waiter in ready { waiter.go() }
      return try await withTaskCancellationHandler {
        try await pieces(number)
      } onCancel: {
        cancelled.open()
      }
    }
  }
}

/// A file that is removed with the test.
final class BodyFileFixture {
  let path: String

  init(_ bytes: [UInt8]) throws {
    path = FileManager.default.temporaryDirectory.appending(path: "headgate-\(UUID().uuidString)").path
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func change(to bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
}

struct SourceBroke: Error, Equatable { let number: Int }

/// The sources of a body, and their errors.
@Suite struct RequestBodyTests {
  private func upload(_ bench: Bench, _ body: RequestBody?, path: String = "/") throws -> DispatchRequest {
    var request = try bench.request(path)
    request.method = .put
    request.body = body
    return request
  }

  private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) } }

  @Test("bodies from memory, a file, a range of one, a sequence: the transport reads and counts the same bytes")
  func sameBytes() async throws {
    let bench = try Bench()
    let all = bytes(700_000)
    let file = try BodyFileFixture(all)
    let pieces = PieceSource { $0 < 7 ? Array(all[$0 * 100_000..<($0 + 1) * 100_000]) : nil }
    // The length of the body, that of its exchange, and the bytes.
    let bodies: [(RequestBody, Int64?, Int64?, [UInt8])] = [
      (RequestBody(all), 700_000, 700_000, all),
      (RequestBody(file: file.path), nil, 700_000, all),
      (RequestBody(file: file.path, range: 300_000..<650_001), 350_001, 350_001, Array(all[300_000..<650_001])),
      (RequestBody(file: file.path, range: 7..<7), 0, 0, []),
      (RequestBody(pieces.sequence), nil, nil, all),
      (RequestBody(pieces.sequence, length: 700_000), 700_000, 700_000, all),
      (RequestBody(length: 700_000) { pieces.sequence }, 700_000, 700_000, all),
    ]
    for (body, length, known, expected) in bodies {
      let responses = Responses()
      #expect(body.length == length)
      bench.send(try upload(bench, body), into: responses)
      let exchange = try await bench.transport.next()
      if known != nil { #expect(exchange.exchange.body?.length == known) }
      #expect(try await exchange.restOfBody() == expected)
      exchange.respond()
      #expect(try responses.last?.get().statusCode == 200)
    }
    #expect(bench.isClean())
  }

  @Test("a file that is missing, a folder, a range beyond the end: an error with the path, and no exchange")
  func badFiles() async throws {
    let bench = try Bench()
    let file = try BodyFileFixture(bytes(10))
    let folder = FileManager.default.temporaryDirectory.path
    let cases: [(RequestBody, RequestBodyError.Code, String)] = [
      (RequestBody(file: file.path + ".missing"), .unreadable, file.path + ".missing"),
      (RequestBody(file: folder), .notAFile, folder),
      (RequestBody(file: file.path, range: 5..<11), .outOfRange, file.path),
      (RequestBody(file: file.path, range: -1..<5), .outOfRange, file.path),
      (RequestBody(file: file.path, range: .min ..< .max), .outOfRange, file.path),
      (RequestBody(file: file.path, range: .min..<0), .outOfRange, file.path),
      (RequestBody(file: file.path, range: .max - 1 ..< .max), .outOfRange, file.path),
    ]
    for (body, code, path) in cases {
      let responses = Responses()
      bench.send(try upload(bench, body), into: responses)
      await responses.wait(for: 1)
      let error = responses.last?.error
      #expect(error?.code == .bodyFailed)
      #expect(error?.phase == .sending)
      #expect(body.length.map { $0 >= 0 } ?? true)
      let cause = error?.underlyingError as? RequestBodyError
      #expect((cause?.code, cause?.path) == (code, path))
      #expect(error?.description.contains(path) == true)
    }
    #expect(bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }

  @Test(
    "a file that becomes shorter or longer while it is sent fails before its last piece", arguments: [100_000, 900_000])
  func changedFile(_ size: Int) async throws {
    let bench = try Bench()
    let file = try BodyFileFixture(bytes(800_000))
    let responses = Responses()
    bench.send(try upload(bench, RequestBody(file: file.path)), into: responses)
    let exchange = try await bench.transport.next()
    let first = try await exchange.nextBody()
    #expect(first?.isEmpty == false)
    try file.change(to: bytes(size))
    #expect(try await exchange.restOfBody() == nil)
    exchange.end(DispatchError(.connectionLost, phase: .awaitingHead))
    let error = responses.last?.error
    #expect(error?.code == .bodyFailed)
    let cause = error?.underlyingError as? RequestBodyError
    #expect(cause?.code == (size < 800_000 ? .shrank : .grew))
    #expect(cause?.path == file.path)
    #expect(bench.isClean())
  }

  @Test("data appended after a range has no effect")
  func appendedBehindRange() async throws {
    let bench = try Bench()
    let all = bytes(400_000)
    let file = try BodyFileFixture(all)
    bench.send(try upload(bench, RequestBody(file: file.path, range: 0..<400_000)), into: Responses())
    let exchange = try await bench.transport.next()
    try file.change(to: all + [1, 2, 3])
    #expect(try await exchange.restOfBody() == all)
    exchange.respond()
  }

  @Test("a sequence is asked for a piece only while less than 64 KB are buffered")
  func backPressure() async throws {
    let bench = try Bench()
    let pieces = PieceSource { _ in [UInt8](repeating: 7, count: 40_000) }
    bench.send(try upload(bench, RequestBody(pieces.sequence)), into: Responses())
    let exchange = try await bench.transport.next()
    #expect(pieces.asked == 0, "nothing is asked for before the transport has room")
    #expect(exchange.takeBody(upTo: 1000).read == .wait)
    await pieces.asked(2)
    // The second piece makes 80,000 bytes. The third is requested once 14,465 of them are gone.
    var taken = 0
    while taken < 14_000 { taken += try await exchange.nextBody(upTo: 1000)?.count ?? 0 }
    #expect(pieces.asked == 2)
    while taken < 15_000 { taken += try await exchange.nextBody(upTo: 1000)?.count ?? 0 }
    await pieces.asked(3)
    exchange.respond()
    #expect(bench.isClean())
  }

  @Test("an error of a sequence fails the request, and is its underlying error")
  func throwing() async throws {
    let bench = try Bench()
    let responses = Responses()
    let pieces = PieceSource { number in
      if number == 2 { throw SourceBroke(number: number) }
      return [1, 2, 3]
    }
    bench.send(try upload(bench, RequestBody(pieces.sequence)), into: responses)
    let exchange = try await bench.transport.next()
    #expect(try await exchange.restOfBody() == nil)
    exchange.end(DispatchError(.transportFailed, phase: .awaitingHead))
    let error = responses.last?.error
    #expect(error?.code == .bodyFailed)
    #expect(error?.underlyingError as? SourceBroke == SourceBroke(number: 2))
    #expect(error?.endPoint?.host == "a")
    #expect(bench.isClean())
  }

  @Test("too few bytes, too many bytes, a negative length: an error with both numbers", arguments: [5, 7, -1])
  func wrongLength(_ length: Int64) async throws {
    let bench = try Bench()
    let responses = Responses()
    let pieces = PieceSource { $0 < 2 ? [1, 2, 3] : nil }
    bench.send(try upload(bench, RequestBody(pieces.sequence, length: length)), into: responses)
    if length >= 0 {
      let exchange = try await bench.transport.next()
      #expect(try await exchange.restOfBody() == nil)
      exchange.end(DispatchError(.connectionLost, phase: .awaitingHead))
    }
    let error = responses.last?.error
    #expect(error?.code == .bodyFailed)
    let cause = error?.underlyingError as? RequestBodyError
    #expect(cause?.code == (length == 7 ? .tooShort : .tooLong))
    #expect(cause?.expected == length)
    #expect(bench.isClean())
  }

  @Test("a cancellation ends the task that iterates, and nothing more is read")
  func cancel() async throws {
    let bench = try Bench()
    let responses = Responses()
    let never = Gate()
    let pieces = PieceSource { number in
      if number > 0 { await never.waitRegardless() }
      return [1, 2, 3]
    }
    let operation = bench.send(try upload(bench, RequestBody(pieces.sequence)), into: responses)
    let exchange = try await bench.transport.next()
    #expect(try await exchange.nextBody() == [1, 2, 3])
    await pieces.asked(2)
    operation.cancel()
    try await pieces.cancelled.wait()
    #expect(exchange.takeBody().read == .failed)
    #expect(responses.last?.code == .cancelled)
    never.open()
    #expect(bench.isClean())
  }

  @Test("a cancellation while the file is being opened ends the request at once, and no exchange starts")
  func cancelWhileOpening() async throws {
    let bench = try Bench()
    let file = try BodyFileFixture([1, 2, 3])
    let responses = Responses()
    let busy = Gate()
    for _ in 0..<4 { SerialLane(on: FileSink.crew).run { block(until: busy) } }
    let operation = bench.send(try upload(bench, RequestBody(file: file.path), path: "/first"), into: responses)
    operation.cancel()
    #expect(responses.last?.code == .cancelled)
    #expect(responses.last?.error?.phase == .sending)
    bench.send(try upload(bench, RequestBody(file: file.path), path: "/second"), into: responses)
    busy.open()
    // Opened after the first one, whose opening had no effect.
    let exchange = try await bench.transport.next()
    #expect(exchange.request.url.hasSuffix("/second"))
    #expect(try await exchange.restOfBody() == [1, 2, 3])
    exchange.respond()
    #expect(bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }

  @Test("a final status other than 2xx ends the upload; the response is delivered", arguments: [401, 413, 503])
  func earlyAnswer(_ status: Int) async throws {
    let bench = try Bench()
    let responses = Responses()
    let never = Gate()
    let pieces = PieceSource { number in
      if number > 0 { await never.waitRegardless() }
      return [1, 2, 3]
    }
    bench.send(try upload(bench, RequestBody(pieces.sequence)), into: responses)
    let exchange = try await bench.transport.next()
    #expect(try await exchange.nextBody() == [1, 2, 3])
    await pieces.asked(2)
    exchange.head(status)
    try await pieces.cancelled.wait()
    #expect(exchange.takeBody().read == .failed, "half a body must not look like a whole one")
    exchange.body(Array("no".utf8))
    exchange.end()
    #expect(try responses.last?.get().statusCode == status)
    #expect(try responses.last?.get().text == "no")
    never.open()
    #expect(bench.isClean())
  }

  @Test("an early success ends nothing: the response may depend on the body")
  func earlySuccess() async throws {
    let bench = try Bench()
    let responses = Responses()
    let pieces = PieceSource { $0 < 3 ? [1, 2, 3] : nil }
    bench.send(try upload(bench, RequestBody(pieces.sequence)), into: responses)
    let exchange = try await bench.transport.next()
    exchange.head(200)
    #expect(try await exchange.restOfBody()?.count == 9)
    exchange.end()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }
}
