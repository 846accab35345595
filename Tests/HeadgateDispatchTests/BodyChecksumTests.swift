import CHeadgate
import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import Testing

@testable import HeadgateDispatch

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// SHA-256, and bodies that must have a checksum.
@Suite struct BodyChecksumTests {
  private func sum(_ bytes: some Collection<UInt8>) -> String {
    var hash = SHA256()
    hash.update(Array(bytes))
    return "\(Checksum(hash))"
  }

  @Test("SHA-256 of the standard's examples")
  func standard() {
    #expect(sum("abc".utf8) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(sum([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(
      sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    #expect(
      sum([UInt8](repeating: 0x61, count: 1_000_000))
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test("with and without the processor's instructions, and however the bytes are split, the sum is the same")
  func portable() {
    var random = SeededRandom(seed: 1)
    for length in Array(0...130) + [1000, 10_000] {
      let bytes = (0..<length).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
      let whole = SHA256.sum(bytes)
      var split = SHA256()
      var portable = headgate_sha256_begin()
      var start = 0
      while start < length {
        let piece = Array(bytes[start...].prefix(Int.random(in: 1...200, using: &random)))
        split.update(piece)
        piece.withUnsafeBytes { headgate_sha256_add_portably(&portable, $0.baseAddress, $0.count) }
        start += piece.count
      }
      var digest = [UInt8](repeating: 0, count: 32)
      headgate_sha256_finish(&portable, &digest)
      #expect(split.count == length && split.finish() == whole && digest == whole, "\(length)")
    }
  }

  @Test("digits are read in both cases; anything else is an error that shows it")
  func digits() throws {
    let digits = String(repeating: "0123456789abcdef", count: 4)
    #expect(try Checksum.sha256(digits).description == digits)
    #expect(try Checksum.sha256(digits.uppercased()) == .sha256(digits))
    for text in [
      "", "00", digits + "0", String(digits.dropLast()), String(digits.dropLast()) + "g", digits + " ", "\u{1B}",
    ] {
      let error = #expect(throws: ChecksumError.self) { try Checksum.sha256(text) }
      #expect(error?.codeName == "invalid_checksum" && error?.description.contains("\u{1B}") == false)
    }
  }

  @Test("a body with its checksum gets its name, also after an attempt that broke off")
  func right() async throws {
    let bench = try Bench()
    let path = FileManager.default.temporaryDirectory.appending(path: "headgate-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 / 5) }
    var request = try bench.request()
    request.retry = RetryPolicy(attempts: 2, backoff: .none)
    async let file = bench.dispatcher.download(
      for: request, to: .replacing(path), checksum: try .sha256(sum(bytes).uppercased()))
    let first = try await bench.transport.next()
    first.head()
    _ = first.body([UInt8](repeating: 9, count: 300_000))
    first.end(DispatchError(.connectionLost, phase: .receiving))
    bench.clock.advance(by: .zero)
    let second = try await bench.transport.next()
    second.head()
    for start in stride(from: 0, to: bytes.count, by: 50_000) { _ = second.body(Array(bytes[start..<start + 50_000])) }
    second.end()
    #expect(try await file.path == path)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(bytes))
    #expect(await bench.isCleanAtLast())
  }

  @Test("a body with another checksum leaves no file, and the one that is there stays", arguments: [0, 10, 600_000])
  func wrong(_ count: Int) async throws {
    let bench = try Bench()
    let old = try BodyFileFixture([1])
    var destination = FileDestination.replacing(old.path)
    destination.checksum = try .sha256(sum([1]))
    async let response = bench.dispatcher.download(for: try bench.request(), to: destination)
    let exchange = try await bench.transport.next()
    exchange.head()
    if count > 0 { _ = exchange.body([UInt8](repeating: 7, count: count)) }
    exchange.end()
    do {
      _ = try await response
      Issue.record("a body with the wrong checksum was kept")
    } catch let error as DispatchError {
      let cause = error.underlyingError as? ChecksumError
      #expect(error.code == .badResponse && cause?.codeName == "checksum_mismatch" && error.endPoint != nil)
      #expect(cause?.found?.description == sum([UInt8](repeating: 7, count: count)))
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: old.path)) == Data([1]))
    #expect(!FileManager.default.fileExists(atPath: old.path + ".part"))
    #expect(await bench.isCleanAtLast())
  }
}
