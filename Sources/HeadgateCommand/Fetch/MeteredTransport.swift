import HTTPTypes
import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// Counts the bytes of bodies as they come, for the status line, and leaves the rest to the transport inside.
final class MeteredTransport: Transport {
  private let inside: any Transport
  private let meter = Meter()

  init(_ inside: any Transport) { self.inside = inside }

  /// The bytes that have come up to now, those of redirects and failures included.
  var bytes: Int { meter.bytes.load(ordering: .relaxed) }

  func start(_ exchange: Exchange, events: any ExchangeEvents) -> any ExchangeControl {
    inside.start(exchange, events: MeteredEvents(events, meter))
  }

  var capabilities: TransportCapabilities { inside.capabilities }

  func use(_ sockets: GateSockets) { inside.use(sockets) }

  var taskExecutor: (any TaskExecutor)? { inside.taskExecutor }

  func shutDown(whenClosed: @escaping @Sendable () -> Void) { inside.shutDown(whenClosed: whenClosed) }

  fileprivate final class Meter: Sendable {
    let bytes = Atomic(0)
  }
}

private final class MeteredEvents: ExchangeEvents {
  private let inside: any ExchangeEvents
  private let meter: MeteredTransport.Meter

  init(_ inside: any ExchangeEvents, _ meter: MeteredTransport.Meter) {
    self.inside = inside
    self.meter = meter
  }

  func received(_ head: ResponseHead) -> BodyFlow { inside.received(head) }

  func received(_ bytes: UnsafeRawBufferPointer) -> BodyFlow {
    meter.bytes.wrappingAdd(bytes.count, ordering: .relaxed)
    return inside.received(bytes)
  }

  func received(trailers: HTTPFields) { inside.received(trailers: trailers) }
  func multiplexes(_ does: Bool) { inside.multiplexes(does) }
  func waitsForSocket() { inside.waitsForSocket() }
  func goesOn() { inside.goesOn() }
  func heard() { inside.heard() }
  func ended(_ end: ExchangeEnd) { inside.ended(end) }
}
