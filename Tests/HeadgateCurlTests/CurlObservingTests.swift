import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// What observers are told of exchanges over libcurl.
@Suite struct CurlObservingTests {
  @Test("the parts of connecting are told for a new connection, and none for one that was open already")
  func connecting() async throws {
    let origin = try Origin()
    let recording = RecordingObserver()
    let dispatcher = URLDispatcher(transport: try CurlTransport(), observers: [recording])
    for _ in 0..<3 { _ = try await dispatcher.data(for: origin.url("/bytes/10")) }
    await dispatcher.shutDown()
    #expect(origin.counts().peakSockets == 1)
    let exchanges = recording.requests.flatMap(\.exchanges)
    #expect(exchanges.map { $0.connecting.map(\.part) } == [[.name, .connect], [], []])
    let first = try #require(exchanges.first)
    let connected = try #require(first.connecting.last)
    #expect(first.start.at <= connected.from && connected.from <= connected.until)
    #expect(exchanges.allSatisfy { $0.times.firstByte > .zero && $0.times.total >= $0.times.firstByte })
    #expect(recording.violations == [])
    origin.stop()
  }

  @Test("a connection that nobody accepts is told as far as it came")
  func refused() async throws {
    let origin = try Origin()
    let url = origin.url("/")
    origin.stop()
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
    #expect(request.exchanges.map { $0.connecting.map(\.part) } == [[.name]])
    #expect(recording.violations == [])
  }
}
