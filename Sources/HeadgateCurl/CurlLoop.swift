import CCurl
import CHeadgate
import DequeModule
import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// libcurl's multi interface on a thread of its own: curl_multi_socket_action over a poller. What happens to an exchange is
/// in CurlLoop+Exchanges.swift.
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
    case use(SocketLeases)
    case retry(SocketRoute)
    case reviewIdle
    case job(LoopJob)
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
  let proxies: ProxyChoice
  private let poller: Poller
  private let inbox = Locked(Inbox())
  private let threadNumber = Atomic<UInt>(0)

  // One for each use of connections, in their order.
  var multis: [CurlMulti] = []
  // The exchanges under way. libcurl holds bare pointers to them: each has a retain of its own from `begin` to `end`.
  var running = 0
  var spareHandles: [CurlEasy] = []
  private var sockets: [EndPoint: EndPointSockets] = [:]
  // The last one that was asked for: most requests go where the one before them went.
  private var lastPlace: EndPointSockets?
  private var watches = WatchTable()
  // Those that wait for a socket.
  var held: [ObjectIdentifier: CurlTransfer] = [:]
  // Those in front of whose line something has changed.
  var changed: [EndPointSockets] = []
  /// The pieces of tasks that are to run here; see CurlTaskExecutor.swift.
  var jobs: Deque<LoopJob> = []
  var isInsideCurl = false
  /// What it leases its sockets by; nil while no dispatcher uses it: then there are no limits.
  private(set) var leases: SocketLeases?

  init(_ configuration: CurlTransport.Configuration, _ proxies: ProxyChoice) throws(DispatchError) {
    self.configuration = configuration
    maxHeadBytes = configuration.maxHeadBytes
    self.proxies = proxies
    Self.initializeLibrary
    do {
      poller = try Poller()
    } catch {
      throw DispatchError(.transportFailed, detail: "no descriptors left (error \(error.errno))", underlying: error)
    }
    // The loop outlives their callbacks: they are cleaned up on the loop's thread, before that ends.
    multis = CurlMulti.Use.allCases.compactMap { CurlMulti($0, self) }
    guard multis.count == CurlMulti.Use.allCases.count else {
      for multi in multis { multi.cleanUp() }
      throw DispatchError(.transportFailed, detail: "curl_multi_init failed")
    }
    do {
      _ = try WorkerThread(name: "headgate-curl", serves: true) { [self] in run() }
    } catch {
      for multi in multis { multi.cleanUp() }
      throw DispatchError(.transportFailed, detail: error.description, underlying: error)
    }
  }

  static let initializeLibrary: Void = { curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }()

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
  func use(_ leases: SocketLeases) { _ = send(.use(leases)) }

  /// Takes a job. On the loop's own thread it needs neither a lock nor a wake-up.
  func accept(_ job: LoopJob) {
    if isLoopThread { jobs.append(job) } else if !send(.job(job)) { job.job.runElsewhere() }
  }

  /// Ends the loop once no exchange runs on it; `whenClosed` is called when all its sockets are closed.
  func shutDown(_ whenClosed: @escaping @Sendable () -> Void = {}) {
    let isOver = inbox.withLock { inbox in
      inbox.isClosing = true
      if !inbox.isOver { inbox.whenClosed.append(whenClosed) }
      return inbox.isOver
    }
    if isOver { whenClosed() } else { poller.wake() }
  }

  var isLoopThread: Bool { threadNumber.load(ordering: .relaxed) == headgate_thread_number() }

  private func send(_ command: Command) -> Bool {
    let (isTaken, isFirst) = inbox.withLock { inbox in
      guard !inbox.isClosed else { return (false, false) }
      inbox.commands.append(command)
      return (true, inbox.commands.count == 1)
    }
    // One wake-up for a batch: a command that comes while others wait finds the loop woken.
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
      for multi in multis {
        while multi.timer != .distantFuture, multi.timer <= .now {
          multi.timer = .distantFuture
          action(CURL_SOCKET_TIMEOUT, 0, on: multi)
        }
      }
      let hadEnds = finishTransfers()
      if launchWaiting() || hadEnds || hadCommands { continue }
      // Last, when the exchanges that took the place of ended ones are on their way.
      runJobs()
      if isDone() { break }
      let deadline = jobs.isEmpty ? multis.reduce(.distantFuture) { min($0, $1.timer) } : .now
      poller.wait(until: deadline, into: &events)
      for event in events {
        guard watches.isWanted(event.descriptor, poller) else {
          spokeUnasked(event.descriptor)
          continue
        }
        var mask: Int32 = 0
        // A socket that could be written to is read first: an answer that ends the sending may have come, and behind it
        // the end of the connection, of which a write would take notice first.
        if event.readable || event.writable && hasArrived(at: event.descriptor) { mask |= CURL_CSELECT_IN }
        if event.writable { mask |= CURL_CSELECT_OUT }
        if event.closed && !event.readable { mask |= CURL_CSELECT_ERR }
        action(event.descriptor, mask, on: multis[watches.use(of: event.descriptor).rawValue])
      }
    }
    // A later thread may get this one's number: it must not take itself for the loop.
    threadNumber.store(0, ordering: .relaxed)
    handOverJobs()
    spareHandles = []
    for multi in multis { multi.cleanUp() }
    leases?.leave()
    let whenClosed = inbox.withLock { inbox in
      inbox.isOver = true
      defer { inbox.whenClosed = [] }
      return inbox.whenClosed
    }
    for call in whenClosed { call() }
  }

  /// Whether it was told to end and no exchange is left. From then on no command is taken. Jobs don't count: they may
  /// enqueue others for ever, and run elsewhere after this.
  private func isDone() -> Bool {
    guard running == 0 else { return false }
    return inbox.withLock { inbox in
      inbox.isClosed = inbox.isClosing && inbox.commands.isEmpty
      return inbox.isClosed
    }
  }

  /// Does what other threads asked for. True if exchanges may have work at once; jobs run later in the turn, or a thread that
  /// enqueues many would keep the loop here.
  private func takeCommands() -> Bool {
    var jobCount = 0
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
      case .use(let leases): self.leases = leases
      case .retry(let route):
        if let place = sockets[route.peer] {
          place.reserve(route)
          lineChanged(place)
        } else {
          leases?.stopWaiting(route)
        }
      case .reviewIdle: for place in Array(sockets.values) { place.reviewIdle() }
      case .job(let job):
        jobs.append(job)
        jobCount += 1
      }
    }
    return commands.count > jobCount
  }

  private func action(_ descriptor: curl_socket_t, _ mask: Int32, on multi: CurlMulti) {
    var running: Int32 = 0
    isInsideCurl = true
    curl_multi_socket_action(multi.handle, descriptor, mask, &running)
    isInsideCurl = false
  }

  /// An idle connection was closed by its server, or has sent bytes unasked: those must not answer the next
  /// request. Over HTTP/2, which it may be until a response shows otherwise, servers may speak at any time.
  private func spokeUnasked(_ descriptor: Int32) {
    guard let place = watches.place(of: descriptor) else { return }
    if watches.use(of: descriptor) == .shared, place.line.speech != .http1 { return }
    place.dropIdle(descriptor)
  }

  func place(of endPoint: EndPoint) -> EndPointSockets {
    if let lastPlace, lastPlace.endPoint == endPoint { return lastPlace }
    if let place = sockets[endPoint] {
      lastPlace = place
      return place
    }
    let place = EndPointSockets(endPoint, self)
    sockets[endPoint] = place
    lastPlace = place
    return place
  }

  /// Makes room under a limit that keeps a socket from being opened. False: there is nothing idle to close for it.
  func endIdle(for bound: SocketLedger.Bound, _ route: SocketRoute) -> Bool {
    switch bound {
    case .total:
      sockets.values.contains { $0.endIdle { _ in true } } || sockets.values.reduce(false) { $1.sweep() || $0 }
    case .endPoint(let endPoint, let isProxy):
      sockets[route.peer].map { $0.endIdle { $0.counts(at: endPoint, isProxy: isProxy) } || $0.sweep() } ?? false
    }
  }

  // MARK: Sockets

  func watch(_ descriptor: curl_socket_t, _ what: Int32, _ transfer: CurlTransfer?, _ multi: CurlMulti) {
    let interest: PollInterest
    switch what {
    case CURL_POLL_IN: interest = .read
    case CURL_POLL_OUT: interest = .write
    case CURL_POLL_INOUT: interest = [.read, .write]
    default: return watches.unwant(descriptor, poller)
    }
    // A connection from the pool belongs to the same end-point, so it is known there too.
    let place = transfer?.uses(descriptor) == true ? transfer?.sockets : nil
    watches.want(descriptor, interest, of: place, use: multi.use, poller)
  }

  func didOpen(_ descriptor: Int32, of place: EndPointSockets) { watches.opened(descriptor, of: place) }
  func willClose(_ descriptor: Int32) { watches.close(descriptor, poller) }

  func forgetIfUnused(_ place: EndPointSockets) {
    guard place.isUnused else { return }
    sockets[place.endPoint] = nil
    if lastPlace === place { lastPlace = nil }
  }
}

// MARK: - The gate's sockets

extension CurlLoop: SocketHolder {
  func socketIsReserved(_ route: SocketRoute) { _ = send(.retry(route)) }
  func reviewIdleConnections() { _ = send(.reviewIdle) }
}
