import HTTPTypes
import HeadgateDispatch
import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

/// A body that is sent again: after a redirect, with a credential, or by a retry.
@Suite struct BodyReplayTests {
  /// Answers every challenge with a credential.
  private final class Member: URLDispatchDelegate {
    let ended = Outcomes<String>()

    func dispatchOperation(
      _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
    ) -> AuthenticationAnswer { .credential(user: "ada", password: "secret") }

    func dispatchOperationDidFinish(_ operation: URLDispatchOperation) {
      ended.add("\(operation.response?.statusCode ?? 0)")
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError) {
      ended.add(error.code.description)
    }
  }

  private static let asks: HTTPFields = [.wwwAuthenticate: #"Basic realm="here""#]

  private func request(_ bench: Bench, _ body: RequestBody) throws -> DispatchRequest {
    var request = try bench.request()
    request.method = .put
    request.body = body
    return request
  }

  private func pieces() -> PieceSource { PieceSource { $0 < 3 ? [1, 2, 3] : nil } }

  @Test(
    "D82 a 307 and a 308 resend memory, files and repeatable sequences in full", arguments: [307, 308])
  func redirect(_ status: Int) async throws {
    let bench = try Bench()
    let file = try BodyFileFixture([1, 2, 3, 1, 2, 3, 1, 2, 3])
    let source = pieces()
    for body in [
      RequestBody([1, 2, 3, 1, 2, 3, 1, 2, 3]), RequestBody(file: file.path),
      RequestBody(replayable: { source.sequence }),
    ] {
      let responses = Responses()
      bench.send(try request(bench, body), into: responses)
      let first = try await bench.transport.next()
      _ = try await first.nextBody(upTo: 4)
      first.respond(status, [.location: "http://b/"])
      let second = try await bench.transport.next()
      #expect(second.request.endPoint.host == "b")
      #expect(try await second.restOfBody() == [1, 2, 3, 1, 2, 3, 1, 2, 3])
      second.respond()
      #expect(try responses.last?.get().statusCode == 200)
    }
    #expect(source.made == 2)
    #expect(bench.isClean())
  }

  @Test(
    "D82 a sequence that was started, and memory that may be sent once, are not sent again: the error gives advice",
    arguments: [true, false])
  func begun(isSequence: Bool) async throws {
    let bench = try Bench()
    let responses = Responses()
    let body = isSequence ? RequestBody(pieces().sequence) : RequestBody([1], canBeSentAgain: false)
    bench.send(try request(bench, body), into: responses)
    let first = try await bench.transport.next()
    _ = try await first.nextBody(upTo: 1)
    first.respond(307, [.location: "http://b/"])
    #expect(responses.last?.code == .bodyNotReplayable)
    #expect(responses.last?.error?.description.contains("replayable") == true)
    #expect(bench.transport.takeStarted() == nil)
    #expect(bench.isClean())
  }

  @Test("an unread sequence is sent to the target of a redirect")
  func untouched() async throws {
    let bench = try Bench()
    let responses = Responses()
    let source = pieces()
    bench.send(try request(bench, RequestBody(source.sequence)), into: responses)
    try await bench.transport.next().respond(307, [.location: "http://b/"])
    let second = try await bench.transport.next()
    #expect(try await second.restOfBody()?.count == 9)
    second.respond()
    #expect(try responses.last?.get().statusCode == 200)
    #expect(bench.isClean())
  }

  @Test("one sequence in two requests: the second request fails with an explanation")
  func sharedSequence() async throws {
    let bench = try Bench()
    let responses = Responses()
    let body = RequestBody(pieces().sequence)
    for _ in 0..<2 { bench.send(try request(bench, body), into: responses) }
    let first = try await bench.transport.next()
    #expect(try await first.restOfBody()?.count == 9)
    first.respond()
    let second = try await bench.transport.next()
    #expect(try await second.restOfBody() == nil)
    second.end(DispatchError(.connectionLost, phase: .awaitingHead))
    #expect(responses.last?.code == .bodyNotReplayable)
    #expect(bench.isClean())
  }

  @Test("a credential resends the body if it can be read again, else the request fails", arguments: [true, false])
  func credential(_ isReplayable: Bool) async throws {
    let bench = try Bench()
    let source = pieces()
    let member = Member()
    let body = isReplayable ? RequestBody(replayable: { source.sequence }) : RequestBody(source.sequence)
    bench.dispatcher.dispatchShort(try request(bench, body), delegate: member)
    let first = try await bench.transport.next()
    _ = try await first.nextBody(upTo: 1)
    first.respond(401, Self.asks)
    if isReplayable {
      let second = try await bench.transport.next()
      #expect(try await second.restOfBody()?.count == 9)
      second.respond()
    }
    await member.ended.wait(for: 1)
    #expect(member.ended.values == [isReplayable ? "200" : "body_not_replayable"])
    await bench.dispatcher.shutDown(.drain)
    #expect(bench.isClean())
  }

  @Test(
    "D82 a retry resends a body that can be read again; else the original failure is reported",
    arguments: [true, false])
  func retry(_ isReplayable: Bool) async throws {
    let bench = try Bench()
    let responses = Responses()
    let source = pieces()
    let body = isReplayable ? RequestBody(replayable: { source.sequence }) : RequestBody(source.sequence)
    var request = try request(bench, body)
    request.retry = RetryPolicy(attempts: 2, backoff: .none)
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    _ = try await first.nextBody(upTo: 1)
    first.end(DispatchError(.connectionLost, phase: .awaitingHead))
    if isReplayable {
      bench.clock.advance(by: .seconds(1))
      let second = try await bench.transport.next()
      #expect(try await second.restOfBody()?.count == 9)
      second.respond()
      #expect(try responses.last?.get().statusCode == 200)
    } else {
      #expect(responses.last?.code == .connectionLost)
    }
    #expect(bench.isClean())
  }

  @Test("a body that can't be provided is not retried")
  func failedBody() async throws {
    let bench = try Bench()
    let responses = Responses()
    let source = PieceSource { throw SourceBroke(number: $0) }
    var request = try request(bench, RequestBody(replayable: { source.sequence }))
    request.retry = RetryPolicy(attempts: 3, backoff: .none)
    bench.send(request, into: responses)
    let first = try await bench.transport.next()
    #expect(try await first.restOfBody() == nil)
    // As a transport reports a connection that it closed itself.
    first.end(DispatchError(.connectionLost, phase: .awaitingHead))
    #expect(responses.last?.code == .bodyFailed)
    #expect(bench.isClean())
  }

  @Test("a transport that starts again on another connection reads the body from its start")
  func rewind() async throws {
    let bench = try Bench()
    let source = pieces()
    let file = try BodyFileFixture([1, 2, 3, 1, 2, 3, 1, 2, 3])
    for body in [RequestBody(replayable: { source.sequence }), RequestBody(file: file.path)] {
      bench.send(try request(bench, body), into: Responses())
      let exchange = try await bench.transport.next()
      #expect(try await exchange.nextBody(upTo: 2)?.count == 2)
      #expect(exchange.exchange.body?.rewind() == true)
      #expect(try await exchange.restOfBody() == [1, 2, 3, 1, 2, 3, 1, 2, 3])
      exchange.respond()
    }
    bench.send(try request(bench, RequestBody(source.sequence)), into: Responses())
    let exchange = try await bench.transport.next()
    #expect(exchange.exchange.body?.rewind() == true, "nothing was read")
    #expect(try await exchange.nextBody(upTo: 2)?.count == 2)
    #expect(exchange.exchange.body?.rewind() == false)
    #expect(try await exchange.restOfBody()?.count == 7)
    exchange.respond()
    #expect(bench.isClean())
  }
}
