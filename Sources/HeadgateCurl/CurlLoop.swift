import CCurl
import CHeadgate
import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// libcurl's multi interface on a thread of its own: curl_multi_socket_action over a poller.
///
/// Other threads leave commands in an inbox and wake the loop once for a batch. What starts on the loop's own thread,
/// because a permit was freed there, is started at once.
// Unchecked: `inbox` is locked, `threadNumber` and the poller's `wake` are safe from any thread, and everything else is
// touched by the loop's thread only.
final class CurlLoop: @unchecked Sendable {
  private enum Command {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case resume(CurlTransfer)
    case sendOn(CurlTransfer)
    case fallBack(CurlTransfer)
    case limits(GateLimits)
  }

  private struct Inbox {
    var commands: [Command] = []
    var isClosing = false
    var isClosed = false
    var isOver = false
    var whenClosed: [@Sendable () -> Void] = []
  }

  let configuration: CurlTransport.Configuration
  let maxHeadBytes: Int
  let socketCounts = SocketCounts()
  private let poller: Poller
  private let inbox = Locked(Inbox())
  private let threadNumber = Atomic<UInt>(0)

  private let multi: UnsafeMutableRawPointer
  private var timer = Deadline.distantFuture
  // The exchanges under way. libcurl holds bare pointers to them: each has a retain of its own from `begin` to `end`.
  private var running = 0
  // Not checked at each access: none of their calls comes back to them.
  @exclusivity(unchecked) private var spareHandles: [CurlEasy] = []
  @exclusivity(unchecked) private var sockets: [EndPoint: EndPointSockets] = [:]
  @exclusivity(unchecked) private var watches = WatchTable()
  private var isInsideCurl = false
  // The limits since they were changed for the first time.
  private var limits: GateLimits?

  init(_ configuration: CurlTransport.Configuration) throws(DispatchError) {
    self.configuration = configuration
    maxHeadBytes = configuration.maxHeadBytes
    Self.initializeLibrary
    guard let multi = curl_multi_init() else { throw DispatchError(.transportFailed, detail: "curl_multi_init failed") }
    self.multi = multi
    do {
      poller = try Poller()
    } catch {
      curl_multi_cleanup(multi)
      throw DispatchError(.transportFailed, detail: "no descriptors left (error \(error.errno))", underlying: error)
    }
    // The loop outlives its multi handle's callbacks: it is cleaned up on the loop's thread, before that ends.
    let pointer = Unmanaged.passUnretained(self).toOpaque()
    ccurl_multi_set_pointer(multi, CURLMOPT_SOCKETDATA, pointer)
    ccurl_multi_set_pointer(multi, CURLMOPT_TIMERDATA, pointer)
    ccurl_multi_set_socket_function(multi, CurlCallbacks.watchSocket)
    ccurl_multi_set_timer_function(multi, CurlCallbacks.setTimer)
    // Idle connections are worth keeping as long as there are descriptors: the default grows with what runs.
    ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, GateLimits.defaultTotal)
    do {
      _ = try WorkerThread(name: "headgate-curl", serves: true) { [self] in run() }
    } catch {
      curl_multi_cleanup(multi)
      throw DispatchError(.transportFailed, detail: error.description, underlying: error)
    }
  }

  private static let initializeLibrary: Void = { curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }()

  // MARK: From any thread

  func start(_ transfer: CurlTransfer) {
    if isLoopThread, !isInsideCurl { return begin(transfer) }
    if !send(.start(transfer)) {
      transfer.events.ended(ExchangeEnd(failure: DispatchError(.shutDown, phase: .connecting)))
    }
  }

  func cancel(_ transfer: CurlTransfer) { _ = send(.cancel(transfer)) }
  func resume(_ transfer: CurlTransfer) { _ = send(.resume(transfer)) }
  func sendOn(_ transfer: CurlTransfer) { _ = send(.sendOn(transfer)) }
  func fallBack(_ transfer: CurlTransfer) { _ = send(.fallBack(transfer)) }
  func limitsChanged(to limits: GateLimits) { _ = send(.limits(limits)) }

  /// Ends the loop once nothing runs on it; `whenClosed` is called when all its sockets are closed.
  func shutDown(_ whenClosed: @escaping @Sendable () -> Void = {}) {
    let isOver = inbox.withLock { inbox in
      inbox.isClosing = true
      if !inbox.isOver { inbox.whenClosed.append(whenClosed) }
      return inbox.isOver
    }
    if isOver { whenClosed() } else { poller.wake() }
  }

  private var isLoopThread: Bool { threadNumber.load(ordering: .relaxed) == headgate_thread_number() }

  private func send(_ command: Command) -> Bool {
    let (isTaken, isFirst) = inbox.withLock { inbox in
      guard !inbox.isClosed else { return (false, false) }
      inbox.commands.append(command)
      return (true, inbox.commands.count == 1)
    }
    // One wake-up for a batch: whoever comes while commands wait finds the loop woken already.
    if isFirst { poller.wake() }
    return isTaken
  }

  // MARK: The loop

  private func run() {
    threadNumber.store(headgate_thread_number(), ordering: .relaxed)
    headgate_block_sigpipe()
    var events: [PollEvent] = []
    while true {
      let hadCommands = takeCommands()
      while timer != .distantFuture, timer <= .now {
        timer = .distantFuture
        action(CURL_SOCKET_TIMEOUT, 0)
      }
      if finishTransfers() || hadCommands { continue }
      if isDone() { break }
      poller.wait(until: timer, into: &events)
      for event in events where watches.isWanted(event.descriptor, poller) {
        var mask: Int32 = 0
        // A socket that could be written to is read first: an answer that ends the sending may have come, and behind it
        // the end of the connection, of which a write would take notice first.
        if event.readable || event.writable && hasArrived(at: event.descriptor) { mask |= CURL_CSELECT_IN }
        if event.writable { mask |= CURL_CSELECT_OUT }
        if event.closed && !event.readable { mask |= CURL_CSELECT_ERR }
        action(event.descriptor, mask)
      }
    }
    // A later thread may get this one's number: it must not take itself for the loop.
    threadNumber.store(0, ordering: .relaxed)
    spareHandles = []
    curl_multi_cleanup(multi)
    let whenClosed = inbox.withLock { inbox in
      inbox.isOver = true
      defer { inbox.whenClosed = [] }
      return inbox.whenClosed
    }
    for call in whenClosed { call() }
  }

  /// Whether it was told to end and nothing is left. From then on no command is taken.
  private func isDone() -> Bool {
    guard running == 0 else { return false }
    return inbox.withLock { inbox in
      inbox.isClosed = inbox.isClosing && inbox.commands.isEmpty
      return inbox.isClosed
    }
  }

  private func takeCommands() -> Bool {
    let commands = inbox.withLock { inbox in
      defer { inbox.commands.removeAll() }
      return inbox.commands
    }
    for command in commands {
      switch command {
      case .start(let transfer): begin(transfer)
      case .cancel(let transfer): abandon(transfer)
      case .resume(let transfer): goOn(transfer)
      case .sendOn(let transfer): goOnSending(transfer)
      case .fallBack(let transfer):
        if transfer.dialling == .any, transfer.phase == .connecting { dialAgain(transfer, .ipv4) }
      case .limits(let limits):
        self.limits = limits
        for place in sockets.values {
          place.limit = limits.of(place.endPoint).requests
          place.trim()
        }
      }
    }
    return !commands.isEmpty
  }

  private func action(_ descriptor: curl_socket_t, _ mask: Int32) {
    var running: Int32 = 0
    isInsideCurl = true
    curl_multi_socket_action(multi, descriptor, mask, &running)
    isInsideCurl = false
  }

  // MARK: Exchanges

  private func begin(_ transfer: CurlTransfer) {
    if transfer.isOver { return }
    guard let easy = spareHandles.popLast() ?? CurlEasy(configuration) else {
      return end(transfer, DispatchError(.transportFailed, detail: "no memory for a handle"))
    }
    let endPoint = transfer.exchange.request.endPoint
    let place = place(of: endPoint)
    place.users += 1
    // An exchange that was granted before the limits changed still speaks of the old ones.
    place.limit = limits?.of(endPoint).requests ?? transfer.exchange.maxSockets
    transfer.easy = easy
    transfer.sockets = place
    if place.prefersIPv4 { transfer.dialling = .ipv4 }
    running += 1
    _ = Unmanaged.passRetained(transfer)
    easy.prepare(transfer)
    add(transfer, easy)
  }

  private func place(of endPoint: EndPoint) -> EndPointSockets {
    if let place = sockets[endPoint] { return place }
    let place = EndPointSockets(endPoint, self)
    sockets[endPoint] = place
    return place
  }

  private func add(_ transfer: CurlTransfer, _ easy: CurlEasy) {
    isInsideCurl = true
    let result = curl_multi_add_handle(multi, easy.handle)
    isInsideCurl = false
    if result != CURLM_OK {
      end(transfer, DispatchError(.transportFailed, detail: String(cString: curl_multi_strerror(result))))
    }
  }

  /// Gives up the connection that is being made and dials other addresses. The first socket is closed before the second
  /// is opened: two at once could be one more than the end-point tolerates.
  private func dialAgain(_ transfer: CurlTransfer, _ dialling: CurlTransfer.Dialling) {
    guard !transfer.isOver, let easy = transfer.easy else { return }
    remove(easy)
    transfer.sockets?.sweep()
    transfer.dialling = dialling
    easy.dial(dialling, within: transfer.timeToConnect)
    add(transfer, easy)
  }

  private func remove(_ easy: CurlEasy) {
    isInsideCurl = true
    curl_multi_remove_handle(multi, easy.handle)
    isInsideCurl = false
  }

  private func abandon(_ transfer: CurlTransfer) {
    guard !transfer.isOver else { return }
    guard transfer.easy != nil else {
      // It waits in the inbox behind this: it is never begun.
      transfer.isOver = true
      return transfer.events.ended(ExchangeEnd(failure: DispatchError(.cancelled, phase: .connecting)))
    }
    end(transfer, DispatchError(.cancelled, phase: transfer.phase))
  }

  private func goOn(_ transfer: CurlTransfer) {
    transfer.isPaused = false
    guard transfer.isHeldBack, !transfer.isOver, let easy = transfer.easy else { return }
    transfer.isHeldBack = false
    unpause(transfer, easy)
  }

  /// The body has more to send, or is not wanted any more.
  private func goOnSending(_ transfer: CurlTransfer) {
    guard !transfer.isOver, let easy = transfer.easy, let upload = transfer.upload else { return }
    // What is left of the body is not sent: the connection is closed with it.
    if upload.endsHere { return end(transfer, nil) }
    guard upload.isHeld else { return }
    upload.isHeld = false
    unpause(transfer, easy)
  }

  /// Tells libcurl what of the exchange is to go on: each direction is paused by itself.
  private func unpause(_ transfer: CurlTransfer, _ easy: CurlEasy) {
    let receiving = transfer.isHeldBack ? CURLPAUSE_RECV : CURLPAUSE_RECV_CONT
    let sending = transfer.upload?.isHeld == true ? CURLPAUSE_SEND : CURLPAUSE_SEND_CONT
    isInsideCurl = true
    let result = curl_easy_pause(easy.handle, receiving | sending)
    isInsideCurl = false
    // What was held back is delivered in there; if the consumer refused it, libcurl leaves the ending to us.
    guard result != CURLE_OK || transfer.isAborted else { return }
    if let failure = CurlFailure.error(result, of: transfer) { end(transfer, failure) }
  }

  /// Takes the exchanges that libcurl is done with. True if there were any: their successors may have work at once.
  private func finishTransfers() -> Bool {
    var found = false
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE else { continue }
      found = true
      let result = ccurl_result(message)
      var pointer: UnsafeMutableRawPointer?
      ccurl_get_private(message.pointee.easy_handle, &pointer)
      guard let pointer else { continue }
      // Unretained: what `begin` retained it by lasts until `end`.
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
      if result == CURLE_COULDNT_RESOLVE_HOST, transfer.dialling == .ipv4 {
        dialAgain(transfer, .anyAtLast)
      } else {
        finish(transfer, result)
      }
    }
    return found
  }

  /// libcurl is done with an exchange, for better or worse.
  private func finish(_ transfer: CurlTransfer, _ result: CURLcode) {
    var isTold = (result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR) && transfer.tellRescued()
    if let upload = transfer.upload, let easy = transfer.easy, upload.isQuestionRefused {
      if upload.asksNoMore() {
        remove(easy)
        transfer.sockets?.sweep()
        easy.askNoMore(transfer)
        return add(transfer, easy)
      }
      transfer.tellRefusal()
      isTold = true
    }
    end(transfer, isTold && !transfer.isAborted ? nil : CurlFailure.error(result, of: transfer))
  }

  private func end(_ transfer: CurlTransfer, _ failure: DispatchError?) {
    transfer.isOver = true
    var times = ExchangeTimes()
    let wasBegun = transfer.easy != nil
    if let easy = transfer.easy {
      times = easy.times
      // For one that is not done this closes its connection, before the permit goes back.
      remove(easy)
      transfer.easy = nil
      if spareHandles.count < 64 { spareHandles.append(easy) }
    }
    transfer.fallback.take()?.cancel()
    if let place = transfer.sockets {
      place.users -= 1
      if let upload = transfer.upload { place.uploads = place.uploads.filter { $0.value !== upload } }
      if transfer.dialling == .ipv4 { place.prefersIPv4 = failure == nil }
      place.released(by: transfer)
      if failure != nil || transfer.opened > 1 { place.sweep() }
      place.trim()
      forgetIfUnused(place)
      transfer.sockets = nil
    }
    if wasBegun { running -= 1 }
    transfer.events.ended(ExchangeEnd(failure: failure, times: times))
    // The retain of `begin`, given back once: `easy` is nil from here on.
    if wasBegun { Unmanaged.passUnretained(transfer).release() }
  }

  // MARK: Sockets

  func watch(_ descriptor: curl_socket_t, _ what: Int32, _ transfer: CurlTransfer?) {
    let interest: PollInterest
    switch what {
    case CURL_POLL_IN: interest = .read
    case CURL_POLL_OUT: interest = .write
    case CURL_POLL_INOUT: interest = [.read, .write]
    default: return watches.unwant(descriptor, poller)
    }
    // A connection from the pool belongs to the same end-point, so it is known there too.
    let isConnection = transfer?.sockets?.owns(descriptor) ?? false
    watches.want(descriptor, interest, isConnection: isConnection, poller)
    transfer?.uses(descriptor)
  }

  func didOpen(_ descriptor: Int32) { watches.opened(descriptor) }
  func willClose(_ descriptor: Int32) { watches.close(descriptor, poller) }

  func forgetIfUnused(_ place: EndPointSockets) {
    if place.isUnused { sockets[place.endPoint] = nil }
  }

  func setTimer(_ milliseconds: Int) {
    switch milliseconds {
    case ..<0: timer = .distantFuture
    // At once, which is nearly always what is asked: the clock need not be read for that.
    case 0: timer = .distantPast
    default: timer = .now.advanced(byNanoseconds: Int64(min(milliseconds, 1 << 40)) * 1_000_000)
    }
  }
}
