import CCurl
import CHeadgate
import HTTPTypes
import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// One exchange on libcurl.
// Unchecked: all variables are used only on the loop's thread, except the two atomics.
final class CurlTransfer: ExchangeControl, @unchecked Sendable {
  let exchange: Exchange
  let events: any ExchangeEvents
  /// The proxy, if any.
  let proxy: CurlProxy?
  /// Whether it may use HTTP/2: only over TLS, and if it is neither long nor pausable. libcurl (7.88) keeps a paused
  /// stream of a shared connection in memory, up to 32 MB each. It also ends an HTTP/2 response with a declared
  /// length before any trailers.
  let offersHTTP2: Bool
  private let loop: CurlLoop
  private let phaseNumber = Atomic<UInt8>(0)

  /// The handle, while the exchange is under way.
  var easy: CurlEasy?
  /// The multi handle that the handle was added to.
  var multi: CurlMulti?
  var sockets: EndPointSockets?
  /// The request's body; nil if it has none.
  let upload: CurlUpload?
  /// The socket that it uses.
  var use: CurlSocket?
  /// How often libcurl has begun to send it, since it was last passed on.
  private(set) var tries = 0
  /// How often it was passed on again after libcurl had given up retrying.
  var rounds = 0
  /// Whether it waits in the line for a socket, and whether it ever has.
  var isHeld = false
  var hasWaited = false
  /// A socket has been leased for it that is not open yet.
  var hasLease = false
  /// libcurl was refused a socket for it.
  var wasRefused = false
  /// It was, because the process has too many files open.
  var lacksFile = false
  /// The sockets opened for it. More than one if an address did not respond.
  var opened: [Int32] = []
  // It was sent, or a socket was opened for it, before it was last passed on.
  private var hasDialledBefore = false
  /// Which addresses of its host it dials.
  var dialling = Dialling.any
  /// Switches to IPv4 if an IPv6 address does not respond.
  var fallback: ScheduledTimer?
  var begun = Deadline.now
  /// The name whose addresses it waits for.
  var awaitedName: String?
  var nameTimer: ScheduledTimer?
  /// How long it waited for them.
  var nameTime = Duration.zero
  /// The addresses of its host. If empty, libcurl looks the name up if necessary.
  var addresses: [String] = []
  /// The consumer has paused it. libcurl is told when it next has data.
  var isPaused = false
  /// libcurl has been told and holds data back.
  var isHeldBack = false
  /// Whether it ever has.
  private(set) var hasPaused = false
  /// The consumer has aborted it.
  var isAborted = false
  var isOver = false
  /// An error detected here during a callback of libcurl.
  private(set) var fault: DispatchError?
  // The bytes of the head that libcurl has seen, at least.
  private var unread = 0
  /// The request was passed to a connection, at least in part.
  private(set) var isSent = false
  /// Its reused connection was closed before a response began.
  private(set) var connectionWasStale = false
  /// Its reused connection had bytes to read before the request was sent. Nothing was sent.
  private(set) var metBytes = false
  /// Whether it must not reuse a connection.
  private(set) var needsNewConnection: Bool
  /// Whether the request asks for a compressed body, which is decompressed here.
  let asksForGzip: Bool
  private var gzip: GzipBody?
  // Input bytes already decompressed when the consumer paused within a piece: libcurl delivers them again.
  private var inflated = 0

  init(_ exchange: Exchange, _ events: any ExchangeEvents, _ loop: CurlLoop) {
    self.exchange = exchange
    self.events = events
    self.loop = loop
    let request = exchange.request
    proxy = loop.proxies.isEmpty ? nil : loop.proxies.proxy(for: request)
    offersHTTP2 =
      request.isSecure && loop.configuration.httpVersion == .best && !exchange.mayStay && proxy == nil
      && !request.endPoint.isUnixSocket && !request.requires.contains(.trailers)
    needsNewConnection = exchange.needsNewConnection
    asksForGzip =
      request.acceptsCompression ?? (!exchange.mayPause && loop.configuration.acceptsCompression)
      && !request.headerFields.contains(.acceptEncoding)
      // A range of what is stored compressed begins in the middle of it.
      && !request.headerFields.contains(.range)
    upload = exchange.body.flatMap { exchange.request.method == .head ? nil : CurlUpload($0, exchange.request) }
  }

  /// The destination of its connection. Made only for an exchange that needs a socket.
  var route: SocketRoute {
    let request = exchange.request
    guard let proxy else { return SocketRoute(to: request.endPoint) }
    return SocketRoute(
      toProxy: proxy.endPoint, atMost: proxy.maxConnections,
      tunnelTo: proxy.tunnels(to: request) ? request.endPoint : nil)
  }

  /// The addresses to dial.
  enum Dialling {
    /// All, in the order of the name look-up.
    case any
    /// IPv4 only, after an IPv6 address took half of the time.
    case ipv4
    /// All again, because the name has no IPv4 address.
    case anyAtLast
  }

  /// libcurl is about to dial an IPv6 address. It would spend the whole `connectTimeout` on it and not try the IPv4
  /// addresses (observed with 7.88).
  func dialsIPv6() {
    guard dialling == .any, fallback == nil, !exchange.request.endPoint.isIPv6 else { return }
    let half = (exchange.request.connectTimeout ?? .seconds(30)) / 2
    fallback = TimerThread.deadlines.schedule(at: .now + half) { [self] in loop.fallBack(self) }
  }

  /// The addresses to dial now.
  var dialled: [String] { dialling == .ipv4 ? addresses.filter { !Self.isIPv6($0) } : addresses }

  /// Dials all addresses if there are none of the intended kind.
  func choosesAddresses() {
    if dialling == .ipv4, !addresses.isEmpty, addresses.allSatisfy(Self.isIPv6) { dialling = .anyAtLast }
  }

  private static func isIPv6(_ address: String) -> Bool { address.utf8.contains(UInt8(ascii: ":")) }

  /// The time left of the request's `connectTimeout`.
  var timeToConnect: Duration? { exchange.request.connectTimeout.map { $0 - (.now - begun) } }

  /// Why the request's requirements can't be met; nil if they can.
  var refusal: DispatchError? {
    let request = exchange.request
    guard request.requires.contains(.http2), !offersHTTP2 else { return nil }
    return DispatchError(
      .unsupported, phase: .connecting,
      detail:
        "over libcurl HTTP/2 is used only for short responses into memory, without trailers, a proxy and a bandwidth limit"
    )
  }

  func nameTimedOut() { loop.nameTimedOut(self) }
  func cancel() { loop.cancel(self) }
  func resume() { loop.resume(self) }
  func sendOn() { loop.sendOn(self) }
  func lookForUnreadBytes(_ answer: @escaping @Sendable (Bool) -> Void) { loop.look(self, answer) }

  // MARK: Phases

  private static let phases: [DispatchError.Phase] = [
    .name, .connecting, .securing, .awaitingHead, .receiving, .waiting,
  ]

  var phase: DispatchError.Phase { Self.phases[Int(phaseNumber.load(ordering: .relaxed))] }

  /// Whether the request or the response is being transferred.
  var isOnItsWay: Bool {
    let step = phaseNumber.load(ordering: .relaxed)
    return step == Step.awaitingHead.rawValue || step == Step.receiving.rawValue
  }

  /// Whether a socket was opened for it, or it was sent over one that was open.
  var hasDialled: Bool { hasDialledBefore || tries > 0 || !opened.isEmpty }

  enum Step: UInt8 { case name, connecting, securing, awaitingHead, receiving, held }

  /// Called before the exchange is passed to libcurl, for the first time or again.
  func begins() {
    hasDialledBefore = hasDialled
    (wasRefused, lacksFile, isSent, metBytes, fault) = (false, false, false, false, nil)
    (opened, tries, unread) = ([], 0, 0)
  }

  /// Its connection is established, and the request is about to be sent. Returns false if it must not be.
  ///
  /// - Parameter address: The peer's numeric address, valid during the call.
  func isConnected(to address: UnsafePointer<CChar>?, localPort: Int) -> Bool {
    guard maySend, mayReach(address.map { String(cString: $0) }) else { return false }
    loop.isConnected(self, localPort: localPort)
    // Bytes received on a reused connection before the request is sent can't be its response, but would be read as
    // such. On HTTP/2 they belong to the connection or another stream; a connection counts as HTTP/2 until a response
    // shows otherwise.
    if opened.isEmpty, !offersHTTP2 || sockets?.line.speech == .http1, use?.hasArrived == true {
      metBytes = true
      needsNewConnection = true
      return false
    }
    tries += 1
    isSent = true
    wasRefused = false
    reached(.awaitingHead)
    upload?.begins()
    // Last: any callback of libcurl releases them.
    loop.holdCookies()
    return true
  }

  func releaseCookies() { loop.releaseCookies() }

  private var speaksHTTP2: Bool { offersHTTP2 && sockets?.line.speech == .http2 }

  /// Whether libcurl may send the request. libcurl itself would resend a request after a closed connection, whatever
  /// its method; that decision is the dispatcher's. Over HTTP/2 libcurl does not say whether the server refused a
  /// stream or lost it, and a server that closes a connection refuses many streams, so there libcurl may resend
  /// requests that can be repeated.
  var maySend: Bool {
    guard isSent else { return true }
    if speaksHTTP2, exchange.request.mayBeRepeated { return true }
    connectionWasStale = true
    return false
  }

  /// Called when libcurl has finished the exchange. While a body is being sent libcurl does not resend the request,
  /// so the callbacks have not detected a closed connection.
  func noteEnd(_ result: CURLcode) {
    guard isSent, easy?.head.taken == 0, opened.isEmpty else { return }
    switch result {
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      connectionWasStale = true
    default: break
    }
  }

  /// Whether the request may connect to an address. Always true for a proxy's.
  func mayReach(_ address: @autoclosure () -> String?) -> Bool {
    guard exchange.refusesPrivateAddresses, proxy == nil else { return true }
    let address = address() ?? ""
    guard AddressScope.isPrivate(address) ?? true else { return true }
    fault = DispatchError(
      .redirectRefused, phase: .connecting,
      detail: "a public server redirected to the private address \(address)")
    return false
  }

  func reached(_ step: Step) { phaseNumber.store(step.rawValue, ordering: .relaxed) }

  /// libcurl watches a socket for this exchange. Returns nil if it is not a connection of its end-point.
  func uses(_ descriptor: Int32) -> CurlSocket? {
    if let upload { sockets?.uploads[descriptor] = upload }
    return sockets?.used(descriptor, by: self)
  }

  // MARK: Data from libcurl

  /// A line of the head or the trailers. Returning false ends the exchange.
  func received(_ line: HeadLines.Line) -> Bool {
    switch line {
    case .inside:
      if hearsLines { noteActivity() }
      return true
    case .tooLong: return end(.headTooLarge, "it has more than \(easy?.head.cap ?? 0) bytes")
    case .malformed(let why): return end(.badResponse, why)
    case .last:
      guard let easy else { return false }
      return received(easy)
    }
  }

  /// The head is complete.
  private func received(_ easy: CurlEasy) -> Bool {
    let status = easy.head.status
    let response = ResponseHead(
      statusCode: status, block: easy.head.copy,
      isFromPrivateAddress: (300...399).contains(status) ? isPeerPrivate : nil, isConnectionReused: opened.isEmpty,
      mayTellQuotas: easy.head.tellsQuotas)
    if let upload, !upload.answered(response, easy.head) { return false }
    reached(.receiving)
    guard beginBody(easy.head) else { return false }
    if offersHTTP2 { loop.learned(isHTTP2: easy.head.isHTTP2, from: self) }
    let goesOn = follow(events.received(response))
    if upload?.endsHere == true { sendOn() }
    return goesOn
  }

  /// Whether lines of a head count as activity. A connection of its own is watched itself.
  var hearsLines: Bool { offersHTTP2 && exchange.hasIdleLimit }

  /// Bytes are about to be read from its connection, which no other exchange uses. They may be a part of a line, which
  /// libcurl keeps. Returns an error if its head has no end.
  func heard(at socket: CurlSocket) -> DispatchError? {
    noteActivity()
    return endlessHead(at: socket)
  }

  private func noteActivity() { if exchange.hasIdleLimit { events.receivedActivity() } }

  // libcurl 8.18 and later pass a line on when they have seen that the next one does not continue it, and take any number
  // of blank lines for its continuation.
  private func endlessHead(at socket: CurlSocket) -> DispatchError? {
    guard CurlVersion.unfoldsLines, isSent, !speaksHTTP2, let easy, !easy.head.isDone else { return nil }
    unread += socket.unreadBytes
    guard unread > 2 * easy.head.cap else { return nil }
    return DispatchError(.headTooLarge, phase: phase, detail: "it has more than \(easy.head.cap) bytes")
  }

  /// There are too few descriptors left to open a socket.
  func lacksDescriptor() {
    sockets?.returnLease(of: self)
    (wasRefused, lacksFile) = (true, true)
  }

  var headIsDone: Bool { easy?.head.isDone == true }

  /// Whether its connection was still established when libcurl closed it, or is.
  var isStillConnected: Bool { use?.isStillConnected ?? false }

  private func end(_ code: DispatchError.Code, _ detail: String = "") -> Bool {
    upload?.isGivenUp = true
    fault = DispatchError(code, phase: phase, detail: detail)
    return false
  }

  /// Whether the response comes from a private address; nil behind a proxy.
  private var isPeerPrivate: Bool? {
    let endPoint = exchange.request.endPoint
    if endPoint.isUnixSocket { return true }
    return AddressScope.isPrivate(endPoint.host) ?? (proxy == nil ? easy?.peer.flatMap(AddressScope.isPrivate) : nil)
  }

  /// Sets up decompression if necessary. A body in an encoding that was not requested is delivered as it is. Returns
  /// false if there is no memory.
  private func beginBody(_ head: borrowing HeadLines) -> Bool {
    guard asksForGzip, head.coding == .gzip, bringsBody(head), head.framing.length != 0 else { return true }
    gzip = GzipBody()
    return gzip != nil || end(.transportFailed, "no memory to decompress the body")
  }

  private func bringsBody(_ head: borrowing HeadLines) -> Bool {
    exchange.request.method != .head && head.status != 204 && head.status != 304
  }

  /// Why a response is incomplete although libcurl reported success; nil if it is complete.
  func isCutShort() -> DispatchError? {
    guard let easy else { return nil }
    let endsWithConnection = easy.head.endsWithConnection && bringsBody(easy.head)
    // RFC 9112 section 9.8. OpenSSL reports an error from 3.2 on.
    if endsWithConnection, let tls = use?.tls, !tls.isClosed {
      return DispatchError(
        .connectionLost, phase: .receiving, detail: "the TLS connection ended without the server's closing alert")
    }
    guard let gzip, !gzip.isWhole else { return nil }
    // Without a declared length, the connection may have been lost.
    return DispatchError(
      endsWithConnection ? .connectionLost : .badResponse, phase: .receiving, detail: "the compressed body is truncated"
    )
  }

  /// Reports the trailers, if any.
  func received(trailers: [UInt8]) {
    let fields = trailers.isEmpty ? [:] : HeaderBlock.fields(in: trailers)
    if !fields.isEmpty { events.received(trailers: fields) }
  }

  /// A piece of the body. Returns libcurl's result: all bytes, none (ends the exchange), or pause.
  func received(_ bytes: UnsafeRawBufferPointer) -> Int {
    if isPaused { return holdBack() }
    let known = min(inflated, bytes.count)
    let goesOn = deliver(UnsafeRawBufferPointer(rebasing: bytes[known...]))
    if goesOn, isPaused, gzip != nil { return holdBack() }
    inflated -= known
    upload?.answerBrought(bytes.count)
    if upload?.endsHere == true { sendOn() }
    return goesOn ? bytes.count : 0
  }

  private func holdBack() -> Int {
    (isHeldBack, hasPaused) = (true, true)
    if CurlVersion.readsWhilePaused, let use { loop.holdBack(true, use) }
    return Int(CURL_WRITEFUNC_PAUSE)
  }

  /// Passes a piece of the body on, decompressed if necessary, until the consumer pauses: decompression can multiply
  /// its size by a thousand. Returning false ends the exchange.
  private func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let gzip else { return follow(events.received(bytes)) }
    var goesOn = true
    let taken = gzip.inflate(bytes) { piece in
      goesOn = follow(events.received(piece))
      return goesOn && !isPaused
    }
    guard let taken else { return end(.badResponse, "the body is not gzip, although the head says so") }
    if isPaused { inflated += taken }
    return goesOn
  }

  func follow(_ flow: BodyFlow) -> Bool {
    switch flow {
    case .more: break
    case .pause: isPaused = true
    case .abort: isAborted = true
    }
    return !isAborted
  }
}

extension Exchange {
  /// Whether it may occupy its connection for a long time, so that others should not share it.
  var mayStay: Bool { mayPause || isLong }
}
