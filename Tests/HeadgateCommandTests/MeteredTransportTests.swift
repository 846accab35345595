import HTTPTypes
import HeadgateDispatch
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// The transport that counts is the one inside to those who use it.
@Suite struct MeteredTransportTests {
  /// Writes down what it is told.
  private final class Listener: ExchangeEvents {
    private let told = Locked<[String]>([])

    var words: [String] { told.withLock { $0 } }

    private func tell(_ word: String) { told.withLock { $0.append(word) } }

    func received(_ head: ResponseHead) -> BodyFlow {
      tell("head \(head.statusCode)")
      return .more
    }

    func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
      tell("bytes \(bytes.count)")
      return .more
    }

    func received(trailers: HTTPFields) { tell("trailers \(trailers.count)") }
    func multiplexes(_ does: Bool) { tell("multiplexes \(does)") }
    func waitsForSocket() { tell("waits") }
    func goesOn() { tell("goes on") }
    func heard() { tell("heard") }
    func ended(_ end: ExchangeEnd) { tell("ended") }
  }

  /// Tells all that a transport can tell, at once.
  private final class Teller: Transport {
    func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
      events.waitsForSocket()
      events.goesOn()
      events.multiplexes(true)
      events.heard()
      _ = events.received(ResponseHead(statusCode: 200))
      [1, 2, 3].withUnsafeBytes { _ = events.received($0) }
      events.received(trailers: [.server: "x"])
      events.ended(ExchangeEnd())
      return Control()
    }
  }

  private final class Control: ExchangeControl {
    var phase: DispatchError.Phase { .receiving }
    func cancel() {}
    func resume() {}
  }

  @Test func `All that the transport inside tells arrives, and bytes are counted`() throws {
    let transport = MeteredTransport(Teller())
    let listener = Listener()
    let exchange = Exchange(request: try DispatchRequest("http://a/"), mayPause: false)
    _ = transport.start(exchange, events: listener)
    #expect(
      listener.words == [
        "waits", "goes on", "multiplexes true", "heard", "head 200", "bytes 24", "trailers 1", "ended",
      ])
    #expect(transport.bytes == 24)
  }
}
