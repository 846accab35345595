import CCurl
import CHeadgate
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// One exchange on libcurl.
// Unchecked: everything that varies is touched by the loop's thread only, but for the two atomics.
final class CurlTransfer: ExchangeControl, @unchecked Sendable {
  let exchange: Exchange
  let events: any ExchangeEvents
  private let loop: CurlLoop
  private let phaseNumber = Atomic<UInt8>(0)

  /// The handle while the exchange is under way.
  var easy: CurlEasy?
  var sockets: EndPointSockets?
  /// Sockets that were opened for it: more than one when an address did not answer.
  var opened = 0
  /// Which addresses of its host's name it dials.
  var dialling = Dialling.any
  /// Goes over to IPv4 when an IPv6 address has not answered.
  var fallback: ScheduledTimer?
  let begun = Deadline.now
  /// The consumer wants no more for now; libcurl learns of it when it next has something.
  var isPaused = false
  /// libcurl was told, and holds data back.
  var isHeldBack = false
  /// The consumer wants no more at all.
  var isAborted = false
  var isOver = false
  var headIsTooLarge = false

  private var block: [UInt8] = []
  private(set) var headIsDone = false

  init(_ exchange: Exchange, _ events: any ExchangeEvents, _ loop: CurlLoop) {
    self.exchange = exchange
    self.events = events
    self.loop = loop
  }

  /// The addresses that an exchange dials, one after another.
  enum Dialling {
    /// All, in the order of the look-up.
    case any
    /// IPv4 only, after an IPv6 address took half of the time.
    case ipv4
    /// All again: the name has no IPv4 address.
    case anyAtLast
  }

  /// libcurl is about to dial an IPv6 address. It would give it the whole of `connectTimeout`, without a look at the
  /// IPv4 addresses of the name (seen with 7.88).
  func dialsIPv6() {
    guard dialling == .any, fallback == nil, !exchange.request.endPoint.isIPv6 else { return }
    let half = (exchange.request.connectTimeout ?? .seconds(30)) / 2
    fallback = TimerThread.shared.schedule(at: .now + half) { [self] in loop.fallBack(self) }
  }

  /// What is left of the request's `connectTimeout`.
  var timeToConnect: Duration? { exchange.request.connectTimeout.map { $0 - (.now - begun) } }

  var maxHeadBytes: Int { loop.configuration.maxHeadBytes }

  func cancel() { loop.cancel(self) }
  func resume() { loop.resume(self) }

  // MARK: Phases

  private static let phases: [DispatchError.Phase] = [.name, .connecting, .securing, .awaitingHead, .receiving]

  var phase: DispatchError.Phase { Self.phases[Int(phaseNumber.load(ordering: .relaxed))] }

  enum Step: UInt8 { case name, connecting, securing, awaitingHead, receiving }

  func reached(_ step: Step) { phaseNumber.store(step.rawValue, ordering: .relaxed) }

  /// libcurl watches a socket for this exchange.
  func uses(_ descriptor: Int32) {
    sockets?.used(descriptor, by: self)
  }

  // MARK: What libcurl brings

  /// A line of the head, or of the trailer. False ends the exchange.
  func received(headLine line: UnsafeRawBufferPointer, atMost cap: Int) -> Bool {
    if headIsDone { return true }
    if block.isEmpty { block.reserveCapacity(512) }
    block.append(contentsOf: line)
    guard block.count <= cap else {
      headIsTooLarge = true
      return false
    }
    // An empty line ends the head.
    guard line.count <= 2, line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n") else { return true }
    let status = statusCode
    if (100...199).contains(status), status != 101 {
      block.removeAll(keepingCapacity: true)
      return true
    }
    headIsDone = true
    reached(.receiving)
    let head = ResponseHead(statusCode: status, block: block)
    block = []
    return follow(events.received(head))
  }

  /// A piece of the body. Returns what libcurl wants to hear: all, none (which ends the exchange) or "later".
  func received(_ bytes: UnsafeRawBufferPointer) -> Int {
    if isPaused {
      isHeldBack = true
      return Int(CURL_WRITEFUNC_PAUSE)
    }
    return follow(events.received(bytes)) ? bytes.count : 0
  }

  private func follow(_ flow: BodyFlow) -> Bool {
    switch flow {
    case .more: break
    case .pause: isPaused = true
    case .abort: isAborted = true
    }
    return !isAborted
  }

  /// The three digits after the first spaces of the status line; 0 when there are none.
  private var statusCode: Int {
    let digits = block.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }.prefix(3)
    let isNumber = digits.count == 3 && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isNumber ? digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } : 0
  }
}
