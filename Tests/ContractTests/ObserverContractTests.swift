import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// Observers are told the same over every transport.
@Suite struct ObserverContractTests {
  private let origin: Origin
  private let recording = RecordingObserver()

  init() throws { origin = try Origin(endPoints: 2) }

  private func dispatcher(_ trial: TransportOnTrial) throws -> URLDispatcher {
    URLDispatcher(transport: try trial.make(), observers: [recording])
  }

  private static let sent = ["+waiting", "-waiting", "+exchange", "+head"]

  private func calls(_ place: Int) throws -> [String] {
    #expect(recording.violations == [])
    #expect(recording.unfinished == 0)
    return try #require(recording.requests.dropFirst(place).first).calls
  }

  @Test("a response, a redirect to another end-point, and a body that breaks off", arguments: TransportOnTrial.all)
  func responses(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    _ = try await dispatcher.data(for: origin.url("/bytes/1000"))
    _ = try await dispatcher.data(for: origin.url("/redirect?to=" + origin.url("/bytes/10", endPoint: 1)))
    _ = try? await dispatcher.data(for: origin.url("/short?declared=5000&sent=100"))
    await dispatcher.shutDown()
    let whole = Self.sent + ["-head 200", "+body", "-body 200", "-exchange 200"]
    #expect(try calls(0) == whole + ["-request 200"])
    #expect(
      try calls(1) == Self.sent + ["-head 302", "+body", "-body 302", "-exchange 302"] + whole + ["-request 200"])
    #expect(
      try calls(2) == Self.sent + [
        "-head 200", "+body", "-body connection_lost 200", "-exchange connection_lost 200",
        "-request connection_lost 200",
      ])
    for exchange in recording.requests.flatMap(\.exchanges) {
      #expect(exchange.times.total >= exchange.times.firstByte)
    }
    origin.stop()
  }

  @Test("a cancellation before the head, and a released stream", arguments: TransportOnTrial.all)
  func cancels(_ trial: TransportOnTrial) async throws {
    let dispatcher = try dispatcher(trial)
    let operation = dispatcher.dispatch(try DispatchRequest(origin.url("/silence"))) { _ in }
    #expect(await origin.waitUntil({ $0.requests == 1 }, until: .after(.seconds(60))))
    operation.cancel()
    var response: StreamedResponse? = try await dispatcher.stream(
      for: DispatchRequest(origin.url("/stream?chunks=100000&every=5&size=10", endPoint: 1)))
    #expect(response?.statusCode == 200)
    response = nil
    await dispatcher.shutDown()
    #expect(
      try calls(0) == Self.sent + ["-head cancelled", "-exchange cancelled", "-request cancelled"])
    #expect(
      try calls(1) == Self.sent + [
        "-head 200", "+body", "-body cancelled 200", "-exchange cancelled 200", "-request cancelled 200",
      ])
    origin.stop()
  }
}
