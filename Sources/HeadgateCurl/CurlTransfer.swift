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
  /// The proxy that it goes through.
  let proxy: CurlProxy?
  /// Whether it may use HTTP/2: over TLS, and if it neither is long nor can be paused. What a paused stream holds back on
  /// a shared connection libcurl keeps in memory, up to 32 MB for each (7.88). It also takes an HTTP/2 response to be
  /// complete at the end of a body with a declared length, before any trailers.
  let offersHTTP2: Bool
  /// Where its connection leads.
  let route: SocketRoute
  private let loop: CurlLoop
  private let phaseNumber = Atomic<UInt8>(0)

  /// The handle while the exchange is under way.
  var easy: CurlEasy?
  /// The multi handle that the handle was added to.
  var multi: CurlMulti?
  var sockets: EndPointSockets?
  /// The request's body; nil when it has none.
  let upload: CurlUpload?
  /// The socket that it uses.
  var use: EndPointSockets.Socket?
  /// How often it was begun again because libcurl had tried often enough.
  var rounds = 0
  /// It waits in the line before the sockets, or has done so.
  var isHeld = false
  var hasWaited = false
  /// libcurl wanted to open a socket for it, and was not allowed to.
  var wasRefused = false
  /// Sockets that were opened for it: more than one when an address did not answer.
  var opened: [Int32] = []
  /// Which addresses of its host's name it dials.
  var dialling = Dialling.any
  /// Goes over to IPv4 when an IPv6 address has not answered.
  var fallback: ScheduledTimer?
  var begun = Deadline.now
  /// The consumer wants no more for now; libcurl learns of it when it next has something.
  var isPaused = false
  /// libcurl was told, and holds data back.
  var isHeldBack = false
  /// The consumer wants no more at all.
  var isAborted = false
  var isOver = false
  /// What ended the exchange from here, in the middle of what libcurl did.
  private(set) var fault: DispatchError?
  /// The request was handed to a connection, all of it or a part.
  private(set) var isSent = false
  /// Its connection, which had been kept open, was closed before anything came.
  private(set) var metClosedConnection = false
  private var hasHeard = false
  /// Its connection, which had been kept open, had bytes to read before the request was sent: nothing was sent there.
  private(set) var metBytes = false
  /// Whether no connection that stands will do.
  private(set) var needsNewConnection: Bool
  /// Whether the request asks for a compressed body, which is then inflated here.
  let asksForGzip: Bool
  private var gzip: GzipBody?

  private(set) var head = HeadLines()

  init(_ exchange: Exchange, _ events: any ExchangeEvents, _ loop: CurlLoop) {
    self.exchange = exchange
    self.events = events
    self.loop = loop
    let request = exchange.request
    let proxy = loop.proxies.isEmpty ? nil : loop.proxies.proxy(for: request)
    self.proxy = proxy
    route =
      proxy.map { proxy in
        SocketRoute(
          toProxy: proxy.endPoint, atMost: proxy.maxConnections,
          tunnelTo: proxy.tunnels(to: request) ? request.endPoint : nil)
      } ?? SocketRoute(to: request.endPoint)
    offersHTTP2 =
      request.isSecure && loop.configuration.httpVersion == .best && !exchange.mayStay && proxy == nil
      && !request.endPoint.isUnixSocket && !request.requires.contains(.trailers)
    needsNewConnection = exchange.needsNewConnection
    asksForGzip =
      !exchange.mayPause && loop.configuration.acceptsCompression && !request.headerFields.contains(.acceptEncoding)
    upload = exchange.body.flatMap { exchange.request.method == .head ? nil : CurlUpload($0, exchange.request) }
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

  /// Why it can't be carried as its request asks for; nil when it can.
  var refusal: DispatchError? {
    let request = exchange.request
    guard request.requires.contains(.http2), !offersHTTP2 else { return nil }
    return DispatchError(
      .unsupported, phase: .connecting,
      detail: "over libcurl only short responses into memory go by HTTP/2, without trailers and not through a proxy")
  }

  func cancel() { loop.cancel(self) }
  func resume() { loop.resume(self) }
  func sendOn() { loop.sendOn(self) }

  // MARK: Phases

  private static let phases: [DispatchError.Phase] = [
    .name, .connecting, .securing, .awaitingHead, .receiving, .waiting,
  ]

  var phase: DispatchError.Phase { Self.phases[Int(phaseNumber.load(ordering: .relaxed))] }

  /// Whether the request is on its way, or its response.
  var isOnItsWay: Bool {
    let step = phaseNumber.load(ordering: .relaxed)
    return step == Step.awaitingHead.rawValue || step == Step.receiving.rawValue
  }

  enum Step: UInt8 { case name, connecting, securing, awaitingHead, receiving, held }

  /// libcurl is about to get it, for the first time or anew.
  func begins() {
    (wasRefused, isSent, hasHeard, metBytes, fault) = (false, false, false, false, nil)
    opened = []
  }

  /// Its connection stands, and the request is about to be sent. False: it must not be.
  ///
  /// - Parameter address: The numeric address that it leads to, valid during the call.
  func isConnected(to address: UnsafePointer<CChar>?, localPort: Int) -> Bool {
    guard maySend, mayReach(address.map { String(cString: $0) }) else { return false }
    loop.isConnected(self, localPort: localPort)
    // Bytes that came on a kept connection before the request is sent can't be its answer, but would be taken for it. Over
    // HTTP/2, which it may be until a response shows otherwise, they are the connection's own or another stream's.
    if opened.isEmpty, !offersHTTP2 || sockets?.line.speech == .http1, use?.hasArrived == true {
      metBytes = true
      needsNewConnection = true
      return false
    }
    isSent = true
    wasRefused = false
    reached(.awaitingHead)
    upload?.begins()
    return true
  }

  private var speaksHTTP2: Bool { offersHTTP2 && sockets?.line.speech == .http2 }

  /// Whether libcurl may send the request. By itself it would send a request again that met a closed connection, whatever
  /// the method; that decision is the dispatcher's. Over HTTP/2 libcurl does not say whether the server refused the stream
  /// or lost it, and a server that ends a connection refuses many: there libcurl may repeat what may be repeated.
  var maySend: Bool {
    guard isSent else { return true }
    if speaksHTTP2, exchange.request.mayBeRepeated { return true }
    metClosedConnection = true
    return false
  }

  /// libcurl is done with the exchange. While a body is on its way it does not try to send the request again, so that the
  /// callbacks have not noticed a closed connection.
  func noteEnd(_ result: CURLcode) {
    guard isSent, !hasHeard, opened.isEmpty else { return }
    switch result {
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      metClosedConnection = true
    default: break
    }
  }

  /// Whether an address is one that the request may lead to. A proxy's always is.
  func mayReach(_ address: @autoclosure () -> String?) -> Bool {
    guard exchange.refusesPrivateAddresses, proxy == nil else { return true }
    let address = address() ?? ""
    guard AddressScope.isPrivate(address) ?? true else { return true }
    fault = DispatchError(
      .redirectRefused, phase: .connecting,
      detail: "a public server's redirect leads to the private address \(address)")
    return false
  }

  func reached(_ step: Step) { phaseNumber.store(step.rawValue, ordering: .relaxed) }

  /// libcurl watches a socket for this exchange. False: it is none of its end-point's connections.
  func uses(_ descriptor: Int32) -> Bool {
    if let upload { sockets?.uploads[descriptor] = upload }
    return sockets?.used(descriptor, by: self) ?? false
  }

  // MARK: What libcurl brings

  /// A line of the head, or of the trailer. False ends the exchange.
  func received(headLine line: UnsafeRawBufferPointer, in buffer: inout HeadBuffer) -> Bool {
    hasHeard = true
    switch head.append(line, atMost: loop.maxHeadBytes, in: &buffer) {
    case .inside:
      if exchange.request.idleTimeout != nil { events.heard() }
      return true
    case .tooLong: return end(.headTooLarge)
    case .malformed(let why): return end(.badResponse, why)
    case .last(let status, let block):
      let response = ResponseHead(
        statusCode: status, block: block, isFromPrivateAddress: (300...399).contains(status) ? isPeerPrivate : nil,
        isConnectionReused: opened.isEmpty)
      if let upload, !upload.answered(response) {
        head = HeadLines()
        return false
      }
      reached(.receiving)
      guard beginBody(response) else { return false }
      if offersHTTP2 { loop.learned(isHTTP2: head.isHTTP2, from: self) }
      let goesOn = follow(events.received(response))
      if upload?.endsHere == true { sendOn() }
      return goesOn
    }
  }

  var headIsDone: Bool { head.isDone }

  private func end(_ code: DispatchError.Code, _ detail: String = "") -> Bool {
    upload?.isGivenUp = true
    fault = DispatchError(code, phase: phase, detail: detail)
    return false
  }

  /// Whether the response comes from a private address; nil where a proxy stands between.
  private var isPeerPrivate: Bool? {
    let endPoint = exchange.request.endPoint
    if endPoint.isUnixSocket { return true }
    return AddressScope.isPrivate(endPoint.host) ?? (proxy == nil ? easy?.peer.flatMap(AddressScope.isPrivate) : nil)
  }

  /// Prepares for a compressed body. False: it is compressed in a way that was not asked for.
  private func beginBody(_ head: ResponseHead) -> Bool {
    guard asksForGzip, let coding = head[.contentEncoding]?.lowercased() else { return true }
    // libcurl knows "none" too.
    if ["", "identity", "none"].contains(coding) { return true }
    // These have no body.
    if exchange.request.method == .head || [204, 304].contains(head.statusCode) || self.head.framing.length == 0 {
      return true
    }
    guard coding == "gzip" || coding == "x-gzip" else {
      return end(.badResponse, "the body is encoded as \"\(coding)\", which was not asked for")
    }
    gzip = GzipBody()
    return gzip != nil || end(.transportFailed, "no memory to inflate the body")
  }

  /// Why a response is incomplete although libcurl reported success; nil when it is complete.
  func isCutShort() -> DispatchError? {
    guard let gzip, !gzip.isWhole else { return nil }
    // Without a declared length it may well be the connection that broke.
    return DispatchError(
      head.framing.endsWithConnection && !head.isHTTP2 ? .connectionLost : .badResponse, phase: .receiving,
      detail: "the compressed body ends in the middle")
  }

  /// What came after the body, where something did.
  func tellTrailers() {
    guard !head.trailers.isEmpty else { return }
    let fields = HeaderBlock.fields(in: head.trailers)
    if !fields.isEmpty { events.received(trailers: fields) }
  }

  /// A piece of the body. Returns what libcurl wants to hear: all, none (which ends the exchange) or "later".
  func received(_ bytes: UnsafeRawBufferPointer) -> Int {
    if isPaused {
      isHeldBack = true
      return Int(CURL_WRITEFUNC_PAUSE)
    }
    upload?.answerBrought(bytes.count)
    let goesOn = deliver(bytes)
    if upload?.endsHere == true { sendOn() }
    return goesOn ? bytes.count : 0
  }

  /// Hands a piece of the body on, inflated if need be. False ends the exchange.
  func deliver(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let gzip else { return follow(events.received(bytes)) }
    var goesOn = true
    let isGzip = gzip.inflate(bytes) { piece in
      goesOn = follow(events.received(piece))
      return goesOn
    }
    return isGzip ? goesOn : end(.badResponse, "the body is not gzip, though the head says it is")
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
  /// Whether it may keep its connection for long, which nobody is to share with it then.
  var mayStay: Bool { mayPause || isLong }
}
