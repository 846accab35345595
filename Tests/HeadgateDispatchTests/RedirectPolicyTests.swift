import HTTPTypes
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// Which redirects are followed, and which fields they carry.
@Suite struct RedirectPolicyTests {
  private let responses = Responses()

  private func next(
    _ policy: RedirectPolicy?, _ from: String, _ to: String, isFromPrivateAddress: Bool? = nil
  ) throws -> DispatchRequest {
    var request = try DispatchRequest(from)
    if let policy { request.redirects = policy }
    return try Redirect.next(
      after: request, status: 302, location: to, isFromPrivateAddress: isFromPrivateAddress)
  }

  private func refusal(
    _ policy: RedirectPolicy?, _ from: String, _ to: String, isFromPrivateAddress: Bool? = nil
  ) -> DispatchError? {
    do {
      _ = try next(policy, from, to, isFromPrivateAddress: isFromPrivateAddress)
      return nil
    } catch {
      return error as? DispatchError
    }
  }

  @Test(
    "by default https redirects to https, and http to both",
    arguments: [
      ("https://a/", "https://b:81/", true), ("https://a/", "http://a/", false), ("https://a/", "http://a:443/", false),
      ("https://a/", "//b/", true), ("http://a/", "http://b/", true), ("http://a/", "https://a/", true),
      ("https+unix://%2Fx/", "http://b/", false), ("http+unix://%2Fx/", "http://b/", true),
    ])
  func noDowngrade(from: String, to: String, isAllowed: Bool) throws {
    for policy in [nil, RedirectPolicy.noDowngrade] {
      let error = refusal(policy, from, to)
      #expect((error == nil) == isAllowed)
      if let error {
        #expect(error.code == .redirectRefused)
        #expect(error.detail.contains("from \(from) to http://") && error.detail.contains("status 302"))
        #expect(error.detail.contains("https to http") && error.description.contains("`redirects`"))
      }
    }
    #expect(refusal(.all, from, to) == nil)
  }

  @Test(
    "an origin is a scheme, host and port",
    arguments: [
      ("/x", true), ("https://A.:443/x", true), ("https://u:p@a/", true), ("http://a:443/", false),
      ("https://a:444/", false),
      ("https://b/", false),
    ])
  func sameOrigin(to: String, isAllowed: Bool) {
    let error = refusal(.sameOrigin, "https://a/", to)
    #expect(error?.code == (isAllowed ? nil : .redirectRefused))
  }

  @Test("a custom policy sees the canonical source and target without credentials, and decides alone")
  func custom() throws {
    let asked = LockedBox<[ProposedRedirect]>([])
    let policy = RedirectPolicy.custom { redirect in
      asked.withLock { $0.append(redirect) }
      return redirect.to.hasSuffix("/yes")
    }
    #expect(try next(policy, "https://a/", "http://u:p@B.:80/yes").url == "http://b/yes")
    #expect(refusal(policy, "https://a/", "/no")?.code == .redirectRefused)
    #expect(
      asked.withLock { $0 } == [
        ProposedRedirect(from: "https://a/", to: "http://b/yes", statusCode: 302),
        ProposedRedirect(from: "https://a/", to: "https://a/no", statusCode: 302),
      ])
  }

  @Test(
    "the policy `none` delivers the redirect; a refused redirect ends the request, and nothing is sent to its target")
  func dispatched() throws {
    let bench = try Bench()
    var request = try bench.request()
    request.redirects = .none
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.respond(302, [.location: "http://b/"])
    #expect(try responses.last?.get().statusCode == 302)
    request.redirects = .sameOrigin
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.respond(302, [.location: "http://b/"])
    #expect(responses.last?.code == .redirectRefused)
    #expect(responses.last?.error?.endPoint?.host == "a")
    #expect(bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }

  @Test("a custom policy must not block: blocking calls of the dispatcher are refused in it")
  func blockingRule() throws {
    let bench = try Bench()
    let dispatcher = bench.dispatcher
    let met = LockedBox<DispatchError.Code?>(nil)
    var request = try bench.request()
    request.redirects = .custom { _ in
      do throws(DispatchError) {
        _ = try dispatcher.dispatchSynchronously(try DispatchRequest("http://a/"))
      } catch {
        met.withLock { $0 = error.code }
      }
      return false
    }
    bench.send(request, into: responses)
    bench.transport.takeStarted()?.respond(302, [.location: "http://b/"])
    #expect(met.withLock { $0 } == .wouldBlock)
    #expect(responses.last?.code == .redirectRefused)
    #expect(bench.isClean())
  }

  // MARK: Header fields

  @Test("negotiation fields are sent to any origin, in order; conditions and traces too")
  func harmlessFields() throws {
    var request = try DispatchRequest("https://a/")
    let names = [
      "Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Cache-Control", "Pragma", "User-Agent",
      "Range",
      "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "traceparent", "tracestate",
    ]
    for name in names { request.headerFields[try #require(HTTPField.Name(name))] = "x" }
    request.headerFields.append(HTTPField(name: .accept, value: "y"))
    let there = try Redirect.next(after: request, status: 302, location: "https://b/")
    #expect(there.headerFields == request.headerFields)
  }

  @Test("fields that observers set are sent to any origin, except for a trace's baggage")
  func observersFields() throws {
    let (span, baggage) = (try #require(HTTPField.Name("b3")), try #require(HTTPField.Name("baggage")))
    let observer = RecordingObserver(fields: [
      HTTPField(name: span, value: "1"), HTTPField(name: baggage, value: "user=me"),
    ])
    let bench = try Bench(observers: [observer])
    bench.send(try bench.request(), into: responses)
    try #require(bench.transport.takeStarted()).respond(302, [.location: "/x"])
    let here = try #require(bench.transport.takeStarted())
    #expect(here.request.headerFields[baggage] == "user=me")
    here.respond(302, [.location: "http://b/"])
    let there = try #require(bench.transport.takeStarted())
    #expect(there.request.headerFields[span] == "1")
    #expect(there.request.headerFields[baggage] == nil)
    there.respond()
    #expect(bench.isClean())
  }

  // MARK: Private addresses

  private static let guarded = RedirectPolicy.all.refusingPrivateAddresses

  @Test(
    "a public server, or one at an unknown address, can't redirect to a private address",
    arguments: [
      "http://127.0.0.1/", "http://[::1]/", "http://[::ffff:10.0.0.1]/", "http://2130706433/",
      "http://169.254.169.254/latest",
      "http://[fe80::1]/", "http://192.168.0.1:8080/",
    ])
  func literalAddress(to: String) throws {
    for isPrivate in [false, nil] {
      let error = refusal(Self.guarded, "http://a/", to, isFromPrivateAddress: isPrivate)
      #expect(error?.code == .redirectRefused)
      #expect(error?.detail.contains("private address") == true)
    }
    #expect(refusal(Self.guarded, "http://a/", to, isFromPrivateAddress: true) == nil)
    #expect(refusal(.all, "http://a/", to, isFromPrivateAddress: false) == nil)
    #expect(refusal(Self.guarded, "http+unix://%2Fx/", to) == nil)
  }

  @Test("the target of a public server is connected at public addresses only, for all later redirects too")
  func sticky() throws {
    let bench = try Bench(transport: ScriptedTransport(capabilities: .addressRules))
    var request = try bench.request()
    request.redirects = Self.guarded
    request.retry = RetryPolicy(attempts: 3, backoff: .constant(.seconds(1)), budget: .none)
    bench.send(request, into: responses)
    func exchange() throws -> ScriptedExchange { try #require(bench.transport.takeStarted()) }
    // A redirect from a private address to another is allowed.
    let first = try exchange()
    #expect(!first.exchange.refusesPrivateAddresses)
    first.respond(302, [.location: "http://10.0.0.1/"], isFromPrivateAddress: true)
    let second = try exchange()
    #expect(!second.exchange.refusesPrivateAddresses)
    second.respond(302, [.location: "http://public/"], isFromPrivateAddress: true)
    try exchange().respond(302, [.location: "http://b/"], isFromPrivateAddress: false)
    let guarded = try exchange()
    #expect(guarded.exchange.refusesPrivateAddresses)
    guarded.end(DispatchError(.connectionLost), connectionWasStale: true)
    let repeated = try exchange()
    #expect(repeated.exchange.refusesPrivateAddresses && repeated.exchange.needsNewConnection)
    repeated.respond(503)
    bench.clock.advance(by: .seconds(1))
    let again = try exchange()
    #expect(again.exchange.refusesPrivateAddresses)
    // Even if the transport reports that the answer came from a private address.
    again.respond(302, [.location: "http://c/"], isFromPrivateAddress: true)
    let last = try exchange()
    #expect(last.exchange.refusesPrivateAddresses)
    last.respond(302, [.location: "http://127.0.0.1/"], isFromPrivateAddress: true)
    #expect(responses.last?.code == .redirectRefused)
    #expect(bench.isClean())
  }

  @Test("this also applies if interceptors prepare the next request")
  func intercepted() async throws {
    let bench = try Bench(transport: ScriptedTransport(capabilities: .addressRules), interceptors: [Hooks()])
    var request = try bench.request()
    request.redirects = Self.guarded
    bench.send(request, into: responses)
    try await bench.transport.next().respond(302, [.location: "http://b/"], isFromPrivateAddress: false)
    let second = try await bench.transport.next()
    #expect(second.exchange.refusesPrivateAddresses)
    second.respond(401)
    let again = try await bench.transport.next()
    #expect(again.exchange.refusesPrivateAddresses)
    again.respond()
    await bench.dispatcher.shutDown()
    #expect(await bench.isCleanAtLast())
  }

  @Test("a transport that does not know which address it connects to refuses such a request")
  func unsupported() throws {
    let bench = try Bench()
    var request = try bench.request()
    request.redirects = Self.guarded
    bench.send(request, into: responses)
    #expect(responses.last?.code == .unsupported)
    #expect(responses.last?.error?.detail.contains("address rules") == true)
    #expect(bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }
}
