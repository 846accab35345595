#if os(Linux)
import CStallingResolver
import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// A stalled name look-up, which must not block others.
@Suite(.serialized) struct CurlResolverTests {
  @Test("a stalled name look-up delays no other request, and cancelling it takes effect at once")
  func stalledLookUp() async throws {
    stalling_resolver_arm()
    let origin = try Origin()
    let dispatcher = URLDispatcher(transport: try CurlTransport())
    let outcome = LockedBox<DispatchError?>(nil)
    let ended = Gate()
    var request = try DispatchRequest("http://a.stall.test:\(origin.port)/")
    // It stalls for the duration of this test, which on a busy machine may be longer than any connect timeout.
    request.connectTimeout = nil
    request.timeout = nil
    let operation = dispatcher.dispatch(request) { result in
      if case .failure(let error) = result { outcome.withLock { $0 = error } }
      ended.open()
    }
    #expect(await offTheCooperativeThreads { stalling_resolver_wait(1, 60_000) } == 1)
    for _ in 0..<20 { #expect(try await dispatcher.data(for: origin.url("/")).statusCode == 200) }
    #expect(stalling_resolver_count() == 1)
    operation.cancel()
    try await ended.wait()
    #expect(outcome.withLock { $0?.code } == .cancelled)
    #expect(outcome.withLock { $0?.phase } == .name)
    // Its permit is free, although the look-up's thread still stalls.
    await dispatcher.shutDown(.drain)
    #expect(stalling_resolver_count() == 1)
    stalling_resolver_release()
    origin.stop()
  }

  @Test("requests to one name share one look-up, which ends for all of them at once")
  func sharedLookUp() async throws {
    stalling_resolver_arm()
    let origin = try Origin()
    let dispatcher = URLDispatcher(
      transport: try CurlTransport(), limits: try GateLimits(endPoint: EndPointLimits(requests: 8)))
    let bytes = LockedBox(0)
    for number in 1...8 {
      var request = try DispatchRequest("http://c.stall.test:\(origin.port)/bytes/\(number)")
      request.connectTimeout = nil
      request.timeout = nil
      dispatcher.dispatch(request) { result in
        if case .success(let response) = result { bytes.withLock { $0 += response.body.count } }
      }
    }
    #expect(dispatcher.gate.counts.running == 8)
    #expect(await offTheCooperativeThreads { stalling_resolver_wait_for("c.stall.test", 60_000) } == 1)
    // Another name is looked up beside it, after the eight have reached the transport.
    let other = dispatcher.dispatch(try DispatchRequest("http://e.stall.test:\(origin.port)/")) { _ in }
    #expect(await offTheCooperativeThreads { stalling_resolver_wait_for("e.stall.test", 60_000) } == 1)
    other.cancel()
    stalling_resolver_release()
    await dispatcher.shutDown(.drain)
    #expect(bytes.withLock { $0 } == 36)
    #expect(stalling_resolver_asked("c.stall.test") == 1)
    #expect(origin.counts().peakSockets <= 8)
    origin.stop()
  }

  @Test("a request that waited for its name reports how long")
  func timesOfALookUp() async throws {
    stalling_resolver_arm()
    let origin = try Origin()
    let dispatcher = URLDispatcher(transport: try CurlTransport())
    var request = try DispatchRequest("http://d.stall.test:\(origin.port)/")
    request.connectTimeout = nil
    async let response = dispatcher.data(for: request)
    #expect(await offTheCooperativeThreads { stalling_resolver_wait_for("d.stall.test", 60_000) } == 1)
    stalling_resolver_release()
    let times = try await response.times.exchange
    #expect(times.name > .zero)
    #expect(times.connect >= times.name)
    #expect(times.total >= times.firstByte && times.firstByte >= times.connect)
    await dispatcher.shutDown(.drain)
    origin.stop()
  }

  @Test("a name without addresses fails in its phase, by the name")
  func nameThatDoesNotExist() async throws {
    let dispatcher = URLDispatcher(transport: try CurlTransport())
    // Without a limit: it is the machine's resolver that is asked.
    var patient = try DispatchRequest("http://nowhere.invalid/")
    (patient.timeout, patient.connectTimeout) = (nil, nil)
    let request = patient
    for _ in 0..<2 {
      let error = await #expect(throws: DispatchError.self) { _ = try await dispatcher.data(for: request) }
      #expect(error?.code == .nameNotResolved)
      #expect(error?.phase == .name)
      #expect(error?.description.contains("nowhere.invalid") == true)
    }
    await dispatcher.shutDown(.now)
  }

  @Test("the connect timeout ends a stalled look-up, and the error names the phase")
  func connectTimeoutInLookUp() async throws {
    stalling_resolver_arm()
    let dispatcher = URLDispatcher(transport: try CurlTransport())
    var request = try DispatchRequest("http://b.stall.test:1/")
    request.connectTimeout = .milliseconds(50)
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      Issue.record("the request was answered")
    } catch {
      #expect(error.code == .connectTimedOut || error.code == .nameNotResolved)
      #expect(error.phase == .name)
    }
    // Otherwise its thread could be late, and stall in the next test.
    #expect(await offTheCooperativeThreads { stalling_resolver_wait_for("b.stall.test", 60_000) } == 1)
    stalling_resolver_release()
    await dispatcher.shutDown(.now)
  }
}

/// Runs a blocking call on a separate thread.
func offTheCooperativeThreads<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  await withContinuation { continuation in
    do {
      _ = try WorkerThread(name: "blocking") { continuation.resume(returning: body()) }
    } catch {
      continuation.resume(returning: body())
    }
  }
}
#endif
