import HTTPTypes
import HeadgateTesting
import Testing

@testable import HeadgateDispatch

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Forms as bodies: their bytes, and files that are not what they were.
@Suite struct MultipartTests {
  private func sent(_ body: RequestBody, on bench: Bench) async throws -> (type: String, bytes: [UInt8]?) {
    let responses = Responses()
    bench.send(try DispatchRequest("http://a/", method: .post, body: body), into: responses)
    let exchange = try await bench.transport.next()
    let bytes = try await exchange.restOfBody()
    #expect(exchange.exchange.body?.length == bytes.map { Int64($0.count) })
    exchange.respond()
    #expect(try responses.last?.get().statusCode == 200)
    return (exchange.request.headerFields[.contentType] ?? "", bytes)
  }

  @Test("texts, bytes and files in their order, with escaped names")
  func form() async throws {
    let bench = try Bench()
    let all = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let (file, empty) = (try BodyFileFixture(all), try BodyFileFixture([]))
    let body = RequestBody(multipart: [
      BodyPart("language", "en\r\n--x"),
      BodyPart("a\"b\r\nContent-Type: text/html", "é"),
      BodyPart("audio", file: file.path, fileName: "talk \"1\".flac", contentType: "audio/flac\r\nX-Evil: 1"),
      BodyPart("none", file: empty.path),
      BodyPart("raw", bytes: [0, 13, 10, 255], fileName: "raw.bin"),
    ])
    #expect(body.length == nil && body.canBeSentAgain)
    for _ in 0..<2 {
      let (type, bytes) = try await sent(body, on: bench)
      let boundary = try #require(type.split(separator: "=").last)
      #expect(type == "multipart/form-data; boundary=\(boundary)" && (20...70).contains(boundary.count))
      let name = empty.path.split(separator: "/").last ?? ""
      let expected: [[UInt8]] = [
        Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"language\"\r\n\r\nen\r\n--x\r\n".utf8),
        Array(
          "--\(boundary)\r\nContent-Disposition: form-data; name=\"a%22b%0D%0AContent-Type: text/html\"\r\n\r\n".utf8),
        Array(
          "é\r\n--\(boundary)\r\nContent-Disposition: form-data; name=\"audio\"; filename=\"talk %221%22.flac\"\r\n"
            .utf8),
        Array("Content-Type: audio/flac  X-Evil: 1\r\n\r\n".utf8), all,
        Array("\r\n--\(boundary)\r\nContent-Disposition: form-data; name=\"none\"; filename=\"\(name)\"\r\n".utf8),
        Array("Content-Type: application/octet-stream\r\n\r\n\r\n--\(boundary)\r\n".utf8),
        Array("Content-Disposition: form-data; name=\"raw\"; filename=\"raw.bin\"\r\n\r\n".utf8), [0, 13, 10, 255],
        Array("\r\n--\(boundary)--\r\n".utf8),
      ]
      #expect(bytes == expected.flatMap { $0 })
    }
    #expect(bench.isClean())
  }

  @Test("a form without files has a length, and one without parts ends at once; each has a boundary of its own")
  func lengths() async throws {
    let bench = try Bench()
    let (one, other) = (RequestBody(multipart: [BodyPart("a", "b")]), RequestBody(multipart: []))
    #expect(one.contentType != other.contentType)
    let sentOne = try await sent(one, on: bench)
    #expect(sentOne.bytes.map { Int64($0.count) } == one.length)
    let sentOther = try await sent(other, on: bench)
    let boundary = try #require(sentOther.type.split(separator: "=").last)
    #expect(sentOther.bytes == Array("--\(boundary)--\r\n".utf8))
    #expect(bench.isClean())
  }

  /// What happens to the second file of a form while the first is being sent.
  enum Change: CaseIterable { case removed, shorter, longer, rewritten, replaced }

  @Test(
    "a file that changes between the start and its turn fails the request: no mixture is sent",
    arguments: Change.allCases)
  func changed(_ change: Change) async throws {
    let bench = try Bench()
    let files = try (0..<2).map { _ in try BodyFileFixture([UInt8](repeating: 1, count: 600_000)) }
    let other = try BodyFileFixture([UInt8](repeating: 2, count: 600_000))
    // So that a later time differs, however coarse the file system's clock is.
    let past = Date(timeIntervalSince1970: 1_000_000_000)
    try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: files[1].path)
    let responses = Responses()
    let body = RequestBody(multipart: files.map { BodyPart("f", file: $0.path) })
    bench.send(try DispatchRequest("http://a/", method: .post, body: body), into: responses)
    let exchange = try await bench.transport.next()
    #expect(try await exchange.nextBody() != nil)
    let expected: RequestBodyError.Code
    switch change {
    case .removed:
      expected = .unreadable
      try FileManager.default.removeItem(atPath: files[1].path)
    case .shorter:
      expected = .shrank
      try files[1].change(to: [1])
    case .longer:
      expected = .grew
      try files[1].change(to: [UInt8](repeating: 1, count: 600_001))
    case .rewritten:
      expected = .changed
      try files[1].change(to: [UInt8](repeating: 2, count: 600_000))
    case .replaced:
      expected = .changed
      try FileManager.default.removeItem(atPath: files[1].path)
      try FileManager.default.moveItem(atPath: other.path, toPath: files[1].path)
    }
    #expect(try await exchange.restOfBody() == nil)
    exchange.end(DispatchError(.connectionLost, phase: .awaitingHead))
    let error = responses.last?.error
    let cause = error?.underlyingError as? RequestBodyError
    #expect(error?.code == .bodyFailed && cause?.code == expected && cause?.path == files[1].path)
    #expect(bench.isClean())
  }

  @Test("a form with a file that can't be read is not sent")
  func unreadable() async throws {
    let bench = try Bench()
    let responses = Responses()
    let body = RequestBody(multipart: [BodyPart("a", "b"), BodyPart("f", file: "/nowhere/f")])
    bench.send(try DispatchRequest("http://a/", method: .post, body: body), into: responses)
    await responses.wait(for: 1)
    let cause = responses.last?.error?.underlyingError as? RequestBodyError
    #expect(cause?.code == .unreadable && cause?.path == "/nowhere/f" && bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }
}
