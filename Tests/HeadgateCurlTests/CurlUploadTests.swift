import HTTPTypes
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// A request's body over libcurl: when Expect: 100-continue is sent, and early responses.
@Suite struct CurlUploadTests {
  private let origin: Origin
  private let dispatcher: URLDispatcher

  init() throws {
    origin = try Origin(endPoints: 2)
    dispatcher = try Self.dispatcher()
  }

  private static func dispatcher(timers: any TimerService = TimerThread.deadlines) throws -> URLDispatcher {
    // The server always answers. On a busy machine that may take longer than a second.
    var configuration = CurlTransport.Configuration()
    configuration.continueTimeout = .seconds(60)
    return URLDispatcher(
      transport: try CurlTransport(configuration: configuration),
      limits: try GateLimits(endPoint: EndPointLimits(requests: 1)), timers: timers)
  }

  private func request(_ path: String, _ body: RequestBody) throws -> DispatchRequest {
    try DispatchRequest(origin.url(path), method: .put, body: body)
  }

  private func failure(_ request: DispatchRequest, _ dispatcher: URLDispatcher? = nil) async -> DispatchError? {
    do throws(DispatchError) {
      _ = try await (dispatcher ?? self.dispatcher).data(for: request)
      return nil
    } catch {
      return error
    }
  }

  /// Pieces of a given size, counted as they are requested.
  private struct Pieces {
    let asked = LockedBox(0)
    let body: RequestBody

    init(_ count: Int, of size: Int, isReplayable: Bool = false) {
      let asked = asked
      let make: @Sendable () -> AsyncStream<[UInt8]> = {
        let next = LockedBox(0)
        return AsyncStream { () -> [UInt8]? in
          asked.withLock { $0 += 1 }
          let number = next.withLock { next in
            next += 1
            return next
          }
          return number <= count ? [UInt8](repeating: 1, count: size) : nil
        }
      }
      body = isReplayable ? RequestBody(replayable: make) : RequestBody(make())
    }
  }

  @Test("100-continue is expected for more than a megabyte, for an unknown length, and on request")
  func expects() async throws {
    let name = try #require(HTTPField.Name("X-Echo-Expect"))
    let cases: [(RequestBody, Bool?, Bool)] = [
      (RequestBody([UInt8](repeating: 1, count: 1 << 20)), nil, false),
      (RequestBody([UInt8](repeating: 1, count: 1 << 20 + 1)), nil, true),
      (RequestBody([UInt8](repeating: 1, count: 1 << 20 + 1)), false, false),
      (RequestBody("small"), nil, false), (RequestBody("small"), true, true),
      (Pieces(1, of: 5).body, nil, true), (Pieces(1, of: 5).body, false, false),
    ]
    for (number, (body, wish, isAsked)) in cases.enumerated() {
      var request = try request("/echo", body)
      request.expectsContinue = wish
      let response = try await dispatcher.data(for: request)
      #expect(response.headerFields[name] == (isAsked ? "100-continue" : nil), "case \(number)")
      #expect(!response.body.isEmpty)
    }
    let length = try #require(HTTPField.Name("X-Echo-Content-Length"))
    let coding = try #require(HTTPField.Name("X-Echo-Transfer-Encoding"))
    let chunked = try await dispatcher.data(for: request("/echo", Pieces(2, of: 5).body))
    #expect((chunked.headerFields[length], chunked.headerFields[coding]) == (nil, "chunked"))
    await dispatcher.shutDown()
  }

  @Test(
    "a server that refuses the expectation gets no body, and the sequence is not read", arguments: [401, 413, 503])
  func refused(_ status: Int) async throws {
    let pieces = Pieces(10, of: 100_000)
    let response = try await dispatcher.data(for: request("/early?status=\(status)", pieces.body))
    #expect(response.statusCode == status)
    #expect(response.text == "too large\n")
    #expect(pieces.asked.withLock { $0 } == 0)
    #expect(origin.counts().bodyBytes == 0)
    #expect(try await dispatcher.data(for: request("/sink", Pieces(1, of: 5).body)).text == "5")
    await dispatcher.shutDown()
  }

  /// Answers with a credential, and records the end.
  private final class Member: URLDispatchDelegate {
    let ended = Gate()
    let code = LockedBox(0)

    func dispatchOperation(
      _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
    ) -> AuthenticationAnswer { .credential(user: "ada", password: "secret") }

    func dispatchOperationDidFinish(_ operation: URLDispatchOperation) {
      code.withLock { $0 = operation.response?.statusCode ?? 0 }
      ended.open()
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError) { ended.open() }
  }

  @Test("a sequence that can be read once is sent with the credential that a server requested before it read any")
  func credential() async throws {
    origin.setScript(
      OriginScript { request in
        guard request.header("Authorization") == nil else { return nil }
        var answer = OriginAnswer.text("who are you?", status: 401).early()
        answer.headers = [OriginHeader("WWW-Authenticate", #"Basic realm="here""#)]
        return answer
      })
    let member = Member()
    dispatcher.dispatchShort(try request("/sink", Pieces(10, of: 100_000).body), delegate: member)
    try await member.ended.wait()
    #expect(member.code.withLock { $0 } == 200)
    #expect(origin.counts().bodyBytes == 1_000_000)
    await dispatcher.shutDown()
  }

  @Test("a server that rejects the expectation (417) gets the request without it", arguments: [true, false])
  func expectationFailed(closes: Bool) async throws {
    origin.setScript(
      OriginScript { request in
        request.header("Expect") == nil ? nil : .text("what?", status: 417).early(stayingOpen: !closes)
      })
    let bodies = [Pieces(10, of: 100_000).body, RequestBody([UInt8](repeating: 1, count: 1_000_000))]
    for (number, body) in bodies.enumerated() {
      origin.resetCounts()
      var request = try request("/sink", body)
      request.expectsContinue = true
      let response = try await dispatcher.data(for: request)
      #expect(response.statusCode == 200)
      #expect(response.text == "1000000")
      #expect(origin.counts().received == 2)
      #expect(origin.counts().accepted == 2 - number, "nobody knows what is on the first connection")
    }
    origin.setScript(OriginScript { _ in .text("never", status: 417).early() })
    let never = try await dispatcher.data(for: request("/sink", RequestBody([UInt8](repeating: 1, count: 2_000_000))))
    #expect((never.statusCode, never.text) == (417, "never"))
    await dispatcher.shutDown()
  }

  @Test(
    "D05 an answer in the middle of the body ends the upload: it is delivered whole, and the connection not reused",
    arguments: [307, 401, 413, 503])
  func early(_ status: Int) async throws {
    let size = 200_000_000
    let pieces = Pieces(size / 1_000_000, of: 1_000_000, isReplayable: true)
    var request = try request("/early?after=100000&status=\(status)", pieces.body)
    request.maxRedirects = 0
    let response = try await dispatcher.data(for: request)
    #expect(response.statusCode == status)
    #expect(response.text == "too large\n")
    #expect(origin.counts().bodyBytes < size / 2)
    let accepted = origin.counts().accepted
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    #expect(origin.counts().accepted == accepted + 1)
    #expect(origin.counts().peakSockets <= 2)
    await dispatcher.shutDown()
  }

  @Test(
    "D05 a slow early answer is delivered whole, with known and unknown lengths of it and of the body",
    arguments: [true, false], [true, false])
  func slowAnswer(isDeclared: Bool, hasLength: Bool) async throws {
    for staysOpen in [false, true] {
      origin.setScript(
        OriginScript { request in
          guard request.method == "PUT" else { return nil }
          var answer =
            isDeclared
            ? OriginAnswer.pattern(count: 3_000_000) : .stream(chunks: 20, size: 1000, every: .milliseconds(2))
          answer.status = 413
          return answer.early(after: 100_000, stayingOpen: staysOpen)
        })
      let pieces = Pieces(100, of: 1_000_000)
      let body = hasLength ? RequestBody([UInt8](repeating: 1, count: 100_000_000)) : pieces.body
      let response = try await dispatcher.data(for: request("/", body))
      #expect(response.statusCode == 413)
      #expect(response.body.count == (isDeclared ? 3_000_000 : 20_000))
      let accepted = origin.counts().accepted
      #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
      #expect(origin.counts().accepted == accepted + 1, "half a body is on the connection")
    }
    #expect(origin.counts().bodyBytes < 100_000_000)
    await dispatcher.shutDown()
  }

  @Test(
    "D05 a server that answers and resets: the answer is delivered whole, or the error has advice",
    arguments: [200, 413])
  func abrupt(_ status: Int) async throws {
    let body = RequestBody([UInt8](repeating: 1, count: 20_000_000))
    let request = try request("/early?after=100000&abrupt=1&status=\(status)", body)
    for _ in 0..<20 { await expect(request, status, "too large\n") }
    await dispatcher.shutDown()
  }

  /// The server breaks the connection after its answer. The answer is delivered whole, or the error has advice.
  private func expect(_ request: DispatchRequest, _ status: Int, _ text: String) async {
    do throws(DispatchError) {
      let response = try await dispatcher.data(for: request)
      #expect((response.statusCode, response.text) == (status, text))
    } catch {
      #expect(error.code == .connectionLost)
      #expect(error.description.contains("expectsContinue"), "\(error)")
    }
  }

  @Test("D05 an early success with the end of the connection is delivered, and the rest not sent")
  func earlySuccess() async throws {
    let pieces = Pieces(200, of: 1_000_000, isReplayable: true)
    let response = try await dispatcher.data(for: request("/early?after=100000&status=200", pieces.body))
    #expect(response.statusCode == 200)
    #expect(response.text == "too large\n")
    #expect(pieces.asked.withLock { $0 } < 150)
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    await dispatcher.shutDown()
  }

  @Test("D05 an early success with the end of the connection does not wait for a body without data")
  func earlySuccessWhileWaiting() async throws {
    let (never, number) = (Gate(), LockedBox(0))
    let waiting = AsyncStream<[UInt8]> {
      let isFirst = number.withLock { number in
        number += 1
        return number == 1
      }
      if isFirst { return [UInt8](repeating: 1, count: 200_000) }
      await never.waitRegardless()
      return nil
    }
    var request = try request("/early?after=100000&status=200", RequestBody(waiting))
    request.expectsContinue = false
    #expect(try await dispatcher.data(for: request).text == "too large\n")
    never.open()
    await dispatcher.shutDown()
  }

  @Test("D05 an early success, and then an unannounced end of the connection")
  func earlySuccessThenEnd() async throws {
    origin.setScript(
      OriginScript { _ in .text("enough").early(after: 100_000, stayingOpen: true, abruptly: true) })
    await expect(try request("/", RequestBody([UInt8](repeating: 1, count: 50_000_000))), 200, "enough")
    await dispatcher.shutDown()
  }

  @Test("a request resent after a closed connection sends the body from its start")
  func staleConnection() async throws {
    let number = LockedBox(0)
    origin.setScript(
      OriginScript { _ in
        let number = number.withLock { number in
          number += 1
          return number
        }
        return number % 3 == 2 ? .reset : .sink()
      })
    for isReplayable in [true, false] {
      number.withLock { $0 = 0 }
      #expect(try await dispatcher.data(for: request("/", RequestBody("x"))).text == "1")
      var second = try request("/", Pieces(10, of: 30_000, isReplayable: isReplayable).body)
      second.expectsContinue = false
      if isReplayable {
        #expect(try await dispatcher.data(for: second).text == "300000")
      } else {
        let error = await failure(second)
        #expect(error?.code == .connectionLost)
        #expect(error?.description.contains("can't be sent again") == true)
      }
    }
    await dispatcher.shutDown()
  }

  @Test("a server that reads no further: the timeout error says that the body was being sent")
  func stuck() async throws {
    let clock = ManualClock()
    let dispatcher = try Self.dispatcher(timers: clock)
    var request = try request("/sink?pause=1000", RequestBody([UInt8](repeating: 1, count: 30_000_000)))
    request.timeout = .seconds(5)
    let sent = request
    let end = Task { await failure(sent, dispatcher) }
    #expect(await origin.waitUntil({ $0.bodyBytes >= 1000 }, until: .after(.seconds(60))))
    try await clock.timers(1)
    clock.advance(by: .seconds(5))
    let error = await end.value
    #expect(error?.code == .timedOut)
    #expect(error?.phase == .sending)
    origin.release()
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    await dispatcher.shutDown()
  }

  @Test("a cancellation while the body waits for its sequence, and one while it is sent: the connection closes")
  func cancel() async throws {
    let never = Gate()
    let waiting = AsyncStream<[UInt8]> {
      await never.waitRegardless()
      return nil
    }
    for body in [RequestBody(waiting, length: 10), RequestBody(AsyncStream { [UInt8](repeating: 1, count: 10_000) })] {
      origin.resetCounts()
      var request = try request("/sink", body)
      request.expectsContinue = false
      let sent = request
      let task = Task { await failure(sent) }
      #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
      task.cancel()
      #expect(await task.value?.code == .cancelled)
      #expect(await origin.waitUntil({ $0.requests == 0 && $0.aborted == 1 }, until: .after(.seconds(60))))
    }
    never.open()
    #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200)
    await dispatcher.shutDown()
  }

  @Test("a body and a response at the same time: both flow, and a pausing reader stops neither for good")
  func bothWays() async throws {
    let pieces = Pieces(40, of: 100_000)
    var request = try request("/echo", pieces.body)
    request.expectsContinue = false
    let response = try await dispatcher.stream(for: request)
    var count = 0
    for try await piece in response.body { count += piece.count }
    #expect(count == 4_000_000)
    await dispatcher.shutDown()
  }

  @Test("a file in chunks arrives completely, by as many requests over one connection")
  func chunks() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.sparseFile(of: 2_500_000)
    let template = try DispatchRequest(origin.url("/sink"))
    #expect(try await dispatcher.uploadChunks(ofFile: path, for: template, size: 1_000_000) == 2_500_000)
    #expect(origin.counts().bodyBytes == 2_500_000)
    #expect(origin.counts().received == 3)
    #expect(origin.counts().accepted == 1)
    await dispatcher.shutDown()
  }
}
