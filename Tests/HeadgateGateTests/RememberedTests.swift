import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate

/// What outlives the process, as a value.
@Suite struct RememberedTests {
  private static let present: Int64 = 1_764_000_000_000

  /// Random events at a random time around the present.
  private func random(_ random: inout SeededRandom) -> Remembered {
    var known = Remembered()
    var now = Self.present - 200_000_000
    for _ in 0..<Int.random(in: 0...30, using: &random) {
      now += .random(in: 0...10_000_000, using: &random)
      let until = now + .random(in: -1000...100_000_000, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: known.server.paused(until: until, status: Bool.random(using: &random) ? 429 : nil, at: now)
      case 1: known.server.suspended(until: until, hasGivenUp: .random(using: &random), at: now)
      case 2:
        let rate = Bool.random(using: &random) ? Double.random(in: 0.1...1000, using: &random) : nil
        known.server.learned(requests: .random(in: 1...50, using: &random), rate: rate, until: until, at: now)
      case 3: known.server.answered(startedAt: now - .random(in: 0...10_000_000, using: &random))
      default:
        let bound = StartBound(
          units: .random(in: 1...5000, using: &random), length: .random(in: 60_000...90_000_000, using: &random),
          cause: .quota)
        _ = known.program.reserve([bound], at: now)
      }
    }
    return known
  }

  @Test("a text is read as it was written, and nothing but a whole text of the same end-point is read")
  func text() {
    var source = SeededRandom(seed: 1)
    for _ in 0..<200 {
      let known = random(&source)
      let text = known.text(named: "a.example:443")
      #expect(Remembered(text, named: "a.example:443") == known)
      #expect(Remembered(text, named: "b.example:443") == nil)
      for length in 0..<text.utf8.count {
        #expect(Remembered(String(decoding: text.utf8.prefix(length), as: UTF8.self), named: "a.example:443") == nil)
      }
    }
  }

  @Test(
    "whatever a text says, once clamped nobody is kept out for longer than a day by a server, or an hour by an outage")
  func clamped() {
    var source = SeededRandom(seed: 2)
    var read = 0
    for _ in 0..<20_000 {
      var bytes = Array(random(&source).text(named: "a:1").utf8)
      for _ in 0..<Int.random(in: 0...3, using: &source) {
        bytes[.random(in: 0..<bytes.count, using: &source)] = .random(in: 0x20...0x7e, using: &source)
      }
      guard var known = Remembered(String(decoding: bytes, as: UTF8.self), named: "a:1") else { continue }
      read += 1
      let now = Self.present + .random(in: -400_000_000...400_000_000, using: &source)
      known.clamp(at: now)
      if let pause = known.server.pause { #expect(pause.until > now && pause.until <= now + 86_400_000) }
      if let outage = known.server.outage { #expect(outage.until > now && outage.until <= now + 3_600_000) }
      if let learned = known.server.learned { #expect(learned.until > now && learned.until <= now + 86_400_000) }
      for window in known.program.windows {
        #expect(window.parts.allSatisfy { $0.end + window.length > now && $0.end <= now + window.width + 10_000 })
      }
      let again = known
      known.clamp(at: now)
      #expect(known == again)
    }
    #expect(read > 5000)
  }

  @Test("a pause and an outage are only prolonged, until an answer to a request that started later")
  func prolonged() {
    var server = Remembered.Server()
    server.paused(until: 5000, status: 429, at: 1000)
    server.paused(until: 4000, status: 503, at: 2000)
    #expect(server.pause == .init(said: 1000, until: 5000, status: 429))
    server.suspended(until: 9000, hasGivenUp: true, at: 2000)
    server.suspended(until: 8000, hasGivenUp: false, at: 3000)
    #expect(server.outage == .init(said: 2000, until: 9000, hasGivenUp: true))
    server.answered(startedAt: 1000)
    #expect(server.pause != nil && server.outage != nil)
    server.answered(startedAt: 2000)
    #expect(server.pause == nil && server.outage != nil)
    server.answered(startedAt: 2001)
    #expect(server == Remembered.Server())
  }

  @Test("what is said while the clock is ahead is forgotten when the clock is right again, and then nobody waits")
  func clockBack() {
    var known = Remembered()
    let ahead = Self.present + 3_600_000
    known.server.paused(until: ahead + 60_000, status: 429, at: ahead)
    _ = known.program.reserve([StartBound(units: 1, length: 86_400_000, cause: .quota)], at: ahead)
    // A small correction changes nothing.
    var soon = known
    soon.clamp(at: ahead - 5000)
    #expect(soon == known)
    known.clamp(at: Self.present)
    #expect(known == Remembered() && known.end == nil)
  }

  @Test("the name of a file has no slash and no capital letter, and an end-point that is too long has none")
  func names() throws {
    #expect(Remembered.name(of: try EndPoint(host: "API.example", port: 443)) == "api.example:443")
    #expect(Remembered.name(of: try EndPoint(host: "::1", port: 80)) == "[::1]:80")
    #expect(Remembered.name(of: try EndPoint(unixSocket: "/run/A b")) == "unix:%2frun%2f%41%20b")
    let label = String(repeating: "a", count: 60)
    #expect(Remembered.name(of: try EndPoint(host: "\(label).\(label).\(label).\(label)", port: 443)) == nil)
  }
}
