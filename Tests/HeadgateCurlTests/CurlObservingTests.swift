import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// What observers are told of exchanges over libcurl.
@Suite struct CurlObservingTests {
  /// Whether a name was resolved, a connection made, and a TLS handshake performed.
  private func connecting(_ report: ExchangeReport) -> [Bool] {
    [report.times.name, report.times.connect, report.times.tls].map { $0 > .zero }
  }

  @Test("the phases of connecting are reported for a new connection, and none for a reused one")
  func connections() async throws {
    let origin = try Origin()
    let recording = RecordingObserver()
    let dispatcher = URLDispatcher(transport: try CurlTransport(), observers: [recording])
    for _ in 0..<3 { _ = try await dispatcher.data(for: origin.url("/bytes/10")) }
    await dispatcher.shutDown()
    #expect(origin.counts().peakSockets == 1)
    let exchanges = recording.requests.flatMap(\.exchanges)
    #expect(exchanges.map(connecting) == [[true, true, false], [false, false, false], [false, false, false]])
    #expect(exchanges.allSatisfy { $0.times.firstByte > .zero && $0.times.total >= $0.times.firstByte })
    #expect(recording.violations == [])
    origin.stop()
  }

  @Test("a connection that is not accepted is reported as far as it came")
  func refused() async throws {
    // Not the port of a server that has stopped: another process may get that port.
    let url = "http://127.0.0.1:1/"
    let recording = RecordingObserver()
    let dispatcher = URLDispatcher(transport: try CurlTransport(), observers: [recording])
    _ = try? await dispatcher.data(for: url)
    await dispatcher.shutDown()
    let request = try #require(recording.requests.first)
    #expect(
      request.calls == [
        "+waiting", "-waiting", "+exchange", "+head", "-head connect_failed", "-exchange connect_failed",
        "-request connect_failed",
      ])
    #expect(request.exchanges.map(connecting) == [[true, false, false]])
    #expect(recording.violations == [])
  }
}
