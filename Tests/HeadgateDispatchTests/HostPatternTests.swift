import HeadgateDispatch
import HeadgateTesting
import Testing

@Suite struct HostPatternTests {
  private func limits(_ rules: [String: Int]) throws -> GateLimits {
    var limits = try GateLimits(endPoint: EndPointLimits(requests: 99))
    for (pattern, requests) in rules { limits.rules[try HostPattern(pattern)] = try EndPointLimits(requests: requests) }
    return limits
  }

  @Test(
    "the most specific pattern wins",
    arguments: [
      ("http://api.example.com", 5), ("http://api.example.com:8080", 6), ("http://www.example.com", 3),
      ("http://www.example.com:8080", 4), ("http://a.b.example.com", 3), ("http://a.eu.example.com", 7),
      ("http://example.com", 2), ("http://badexample.com", 2), ("http://10.0.0.1", 2), ("http://[::1]", 8),
      ("http://WWW.Example.COM.", 3),
    ])
  func mostSpecific(url: String, requests: Int) throws {
    let limits = try limits([
      "*": 2, "*.example.com": 3, "*.example.com:8080": 4, "api.example.com": 5, "api.example.com:8080": 6,
      "*.EU.example.com.": 7, "[0:0::1]": 8, "*.com:1": 9,
    ])
    #expect(limits.of(try EndPoint(url)).requests == requests)
  }

  @Test("an end-point's own limit precedes every rule, and without any the general one applies")
  func overrides() throws {
    var limits = try limits(["a.example": 2])
    let endPoint = try EndPoint("http://a.example")
    limits.overrides[endPoint] = try EndPointLimits(requests: 7)
    #expect(limits.of(endPoint).requests == 7)
    #expect(limits.of(try EndPoint("http://a.example:81")).requests == 2)
    #expect(limits.of(try EndPoint("http://b.example")).requests == 99)
  }

  @Test(
    "an invalid pattern is an error that describes valid ones",
    arguments: [
      "", "*.", "a.*", "*a.example", "**", "a*b", "*.example.com:0", "*.example.com:65536", "a.example:x", "*.10.0.0.1",
      "*.[::1]", "a..b", "a b", ":80", "*:", "*.*.example",
    ])
  func notAPattern(text: String) {
    let error = #expect(throws: LimitError.self) { try HostPattern(text) }
    #expect(error?.description.isEmpty == false)
  }

  @Test("the error for a URL says what to leave out")
  func url() {
    let error = #expect(throws: LimitError.self) { try HostPattern("http://a.example:80/") }
    #expect(error?.description.contains("leave out http://") == true)
  }

  @Test(
    "a pattern is printed in canonical form",
    arguments: [
      ("*", "*"), ("*:81", "*:81"), ("*.Example.COM.", "*.example.com"), ("A.example:80", "a.example:80"),
      ("[::1]:80", "[::1]:80"), ("::1", "[::1]"),
    ])
  func description(text: String, canonical: String) throws {
    #expect(try HostPattern(text).description == canonical)
    #expect(try HostPattern(text) == HostPattern(canonical))
  }

  @Test("a rule added while requests wait starts all eligible ones; removing one ends nothing")
  func changed() throws {
    let bench = try Bench(requests: 1)
    let responses = Responses()
    for number in 0..<5 { bench.send(try bench.request("/\(number)", host: "x.example"), into: responses) }
    #expect(bench.counts.running == 1)
    var limits = bench.dispatcher.limits
    limits.rules[try HostPattern("*.example")] = try EndPointLimits(requests: 4)
    bench.dispatcher.setLimits(limits)
    #expect(bench.counts.running == 4)
    limits.rules = [:]
    bench.dispatcher.setLimits(limits)
    #expect(bench.counts.running == 4)
    for _ in 0..<3 { bench.transport.takeStarted()?.respond() }
    // Nothing new started until it fitted.
    #expect(bench.counts.running == 1)
    for _ in 0..<2 { bench.transport.takeStarted()?.respond() }
    #expect(responses.count == 5)
    #expect(bench.isClean())
  }
}
