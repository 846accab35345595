import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// The classic interfaces, over libcurl, as counted by the server.
@Suite struct CurlDelegateTests {
  /// Receives a number of bytes of each operation, then cancels it. Stays in its first call for a given time.
  private final class Taker: URLDispatchDelegate {
    private struct State {
      var taken: [URLDispatchOperation: Int] = [:]
      var ends: [String] = []
    }

    private let most: Int
    private let inside: Gate?
    private let release: Gate?
    private let state = Locked(State())

    init(most: Int, inside: Gate? = nil, release: Gate? = nil) {
      self.most = most
      self.inside = inside
      self.release = release
    }

    var taken: [Int] { state.withLock { Array($0.taken.values) } }
    var ends: [String] { state.withLock { $0.ends } }

    func dispatchOperation(_ operation: URLDispatchOperation, didReceiveData data: [UInt8]) {
      inside?.open()
      if let release { #expect(release.wait(until: .after(.seconds(60)))) }
      let taken = state.withLock { state in
        state.taken[operation, default: 0] += data.count
        return state.taken[operation] ?? 0
      }
      if taken >= most { operation.cancel() }
    }

    func dispatchOperationDidFinish(_ operation: URLDispatchOperation) { end("finished") }
    func dispatchOperationWasCancelled(_ operation: URLDispatchOperation) { end("cancelled") }
    func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError) { end("\(error)") }

    private func end(_ how: String) { state.withLock { $0.ends.append(how) } }
  }

  private func dispatcher(_ limits: EndPointLimits) throws -> URLDispatcher {
    URLDispatcher(transport: try CurlTransport(), limits: try GateLimits(endPoint: limits))
  }

  @Test(
    "The classic third test, D53: twenty short requests, each cancelled after 10,000 bytes, all run, four at a time"
  )
  func classicThirdTest() async throws {
    let origin = try Origin(script: OriginScript(connectionLimit: 4))
    let dispatcher = try dispatcher(.classic)
    let taker = Taker(most: 10_000)
    var request = try DispatchRequest(origin.url("/bytes/50000000"))
    request.timeout = .seconds(60)
    for _ in 0..<20 { dispatcher.dispatchShort(request, delegate: taker) }
    await dispatcher.shutDown(.drain)
    #expect(taker.ends == Array(repeating: "cancelled", count: 20))
    #expect(taker.taken.count == 20)
    #expect(taker.taken.allSatisfy { $0 >= 10_000 && $0 < 50_000_000 })
    #expect(dispatcher.gate.counts.running == 0)
    #expect(await origin.waitUntil({ $0.sockets == 0 }, until: .after(.seconds(60))))
    let counts = origin.counts()
    #expect((counts.accepted, counts.refused) == (20, 0))
    #expect(counts.peakSockets <= 4)
    origin.stop()
  }

  @Test("D58 a slow delegate stops its own transfer at the socket; others continue; then everything arrives")
  func slowDelegate() async throws {
    let origin = try Origin()
    let dispatcher = try dispatcher(.classic)
    let (inside, release) = (Gate(), Gate())
    let slow = Taker(most: .max, inside: inside, release: release)
    let operation = dispatcher.dispatchShort(try DispatchRequest(origin.url("/bytes/50000000")), delegate: slow)
    try await inside.wait()
    for _ in 0..<50 { #expect(try await dispatcher.data(for: origin.url("/bytes/100")).body.count == 100) }
    #expect(operation.state == .running)
    release.open()
    await dispatcher.shutDown(.drain)
    #expect(slow.ends == ["finished"])
    #expect(slow.taken == [50_000_000])
    #expect(operation.times?.exchange.firstByte ?? .zero > .zero)
    origin.stop()
  }

  @Test("threads with synchronous requests share the limit, and each gets its own response")
  func synchronous() async throws {
    let origin = try Origin(script: OriginScript(connectionLimit: 2))
    let dispatcher = try dispatcher(EndPointLimits(requests: 2))
    let lengths = LockedBox<[Int]>([])
    let threads = try (0..<8).map { number in
      try WorkerThread(name: "caller") {
        for _ in 0..<20 {
          let request = try? DispatchRequest(origin.url("/bytes/\(number + 1)"))
          guard let request, let response = try? dispatcher.dispatchSynchronously(request) else { continue }
          lengths.withLock { $0.append(response.body.count == number + 1 ? 1 : 0) }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(lengths.withLock { $0.reduce(0, +) } == 160)
    #expect(origin.counts().peakSockets <= 2)
    #expect(origin.counts().refused == 0)
    await dispatcher.shutDown(.drain)
    origin.stop()
  }

  private final class Guest: URLDispatchDelegate {
    let bytes = LockedBox(0)
    let statuses = LockedBox<[Int]>([])

    func dispatchOperation(
      _ operation: URLDispatchOperation, didReceiveChallenge challenge: AuthenticationChallenge
    ) -> AuthenticationAnswer {
      challenge.realm == "origin" ? .credential(user: "ada", password: "secret") : .default
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didReceiveResponse response: ResponseHead) {
      statuses.withLock { $0.append(response.statusCode) }
    }

    func dispatchOperation(_ operation: URLDispatchOperation, didReceiveData data: [UInt8]) {
      bytes.withLock { $0 += data.count }
    }
  }

  @Test(
    "a server that asks for a credential gets it on the same connection; after a long challenge, possibly on a new one")
  func credentials() async throws {
    for (size, connections) in [(0, 1), (100, 1), (1_000_000, 2)] {
      let origin = try Origin(
        script: OriginScript(connectionLimit: 1) { request in
          guard request.header("Authorization") != "Basic YWRhOnNlY3JldA==" else { return nil }
          var answer = OriginAnswer.pattern(count: size)
          answer.status = 401
          answer.headers = [OriginHeader("WWW-Authenticate", #"Basic realm="origin""#)]
          return answer
        })
      let dispatcher = try dispatcher(EndPointLimits(requests: 1))
      let guest = Guest()
      let operation = dispatcher.dispatchShort(try DispatchRequest(origin.url("/bytes/5000")), delegate: guest)
      await dispatcher.shutDown(.drain)
      #expect(guest.statuses.withLock { $0 } == [200])
      #expect(guest.bytes.withLock { $0 } == 5000)
      #expect(operation.state == .finished)
      // If the whole challenge arrives before the answer takes effect, its connection is used again.
      #expect((1...connections).contains(origin.counts().accepted))
      #expect(origin.counts().refused == 0)
      #expect(origin.counts().peakSockets == 1)
      origin.stop()
    }
  }

  @Test("a running stream moves to the long lane, and continues")
  func move() async throws {
    let origin = try Origin()
    let dispatcher = try dispatcher(.classic)
    let request = try DispatchRequest(origin.url("/stream?chunks=0&every=5&size=10"))
    let stream = try await dispatcher.stream(for: request)
    #expect(stream.body.moveToLong())
    #expect(dispatcher.gate.runningLongRequests(at: request.endPoint) == 1)
    var iterator = stream.body.makeAsyncIterator()
    for _ in 0..<3 { #expect(try await iterator.next() != nil) }
    stream.body.cancel()
    await dispatcher.shutDown(.drain)
    origin.stop()
  }
}
