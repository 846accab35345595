import CCurl
import CHeadgate
import DequeModule
import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// libcurl's multi interface on its own thread: curl_multi_socket_action over a poller. The exchanges are handled in
/// CurlLoop+Exchanges.swift.
///
/// Other threads put commands into an inbox and wake the loop once for a batch. An exchange started on the loop's own
/// thread, because a permit was freed there, starts at once.
// Unchecked: `inbox` is locked, `threadNumber` and the poller's `wake` are thread-safe, and everything else is used
// only on the loop's thread.
final class CurlLoop: @unchecked Sendable {
  private enum Command {
    case start(CurlTransfer)
    case cancel(CurlTransfer)
    case resume(CurlTransfer)
    case sendOn(CurlTransfer)
    case fallBack(CurlTransfer)
    case look(CurlTransfer, @Sendable (Bool) -> Void)
    case use(SocketLeases)
    case reserved(SocketRoute)
    case reviewIdle
    case named(String, NameAnswer)
    case namingTimedOut(CurlTransfer)
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
  let proxies: ProxyChoice
  let names: NameService
  private let poller: Poller
  private let inbox = Locked(Inbox())
  private let threadNumber = Atomic<UInt>(0)

  // One for each `CurlMulti.Use`, in order.
  var multis: [CurlMulti] = []
  // The number of exchanges under way. libcurl holds raw pointers to them, so each is retained from `begin` to `end`.
  var running = 0
  var spareHandles: [CurlEasy] = []
  private(set) var sockets: [EndPoint: EndPointSockets] = [:]
  var places: some Collection<EndPointSockets> { sockets.values }
  // The most recently used one: consecutive requests often have the same end-point.
  private var lastPlace: EndPointSockets?
  private(set) var watches = WatchTable()
  // The idle connections, the one that has been idle for the longest time first.
  var idle = IdleList<CurlSocket>()
  // libcurl was called outside its turn, to close an idle connection: see CurlLoop+Idle.swift.
  var hasActed = false
  var closer: CurlEasy?
  // Exchanges that wait for a socket.
  var held: [ObjectIdentifier: CurlTransfer] = [:]
  // The exchanges that wait for each name being looked up. A list may be empty.
  var naming: [String: [CurlTransfer]] = [:]
  // Places whose exchanges had no descriptor left for a socket.
  var lacking: [EndPointSockets] = []
  // Sockets whose line must be checked.
  var changed: [EndPointSockets] = []
  /// Jobs of tasks to run here; see CurlTaskExecutor.swift.
  var jobs: Deque<LoopJob> = []
  var isInsideCurl = false {
    didSet { if !isInsideCurl { releaseCookies() } }
  }
  private var holdsCookies = false
  /// The gate's leases for sockets. Nil while no dispatcher uses the transport; then there are no limits.
  private(set) var leases: SocketLeases?

  init(
    _ configuration: CurlTransport.Configuration, _ proxies: ProxyChoice, _ names: NameService
  ) throws(DispatchError) {
    self.configuration = configuration
    self.proxies = proxies
    self.names = names
    Self.initializeLibrary
    do {
      poller = try Poller()
    } catch {
      throw DispatchError(
        .transportFailed, detail: "no descriptors left (error \(error.errno))", underlyingError: error)
    }
    // `CurlMulti` holds the loop unowned. That is safe: the handles are cleaned up on the loop's thread before it
    // ends.
    multis = CurlMulti.Use.allCases.compactMap { CurlMulti($0, self) }
    guard multis.count == CurlMulti.Use.allCases.count else {
      for multi in multis { multi.cleanUp() }
      throw DispatchError(.transportFailed, detail: "curl_multi_init failed")
    }
    do {
      _ = try WorkerThread(name: "headgate-curl", serves: true) { [self] in run() }
    } catch {
      for multi in multis { multi.cleanUp() }
      throw DispatchError(.transportFailed, detail: error.description, underlyingError: error)
    }
  }

  static let initializeLibrary: Void = { curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }()

  // MARK: From any thread

  func start(_ transfer: CurlTransfer) {
    if isLoopThread, !isInsideCurl { return begin(transfer) }
    if !send(.start(transfer)) {
      transfer.events.ended(ExchangeEnd(failure: DispatchError(.shutDown), wasSent: false))
    }
  }

  func cancel(_ transfer: CurlTransfer) { _ = send(.cancel(transfer)) }
  func resume(_ transfer: CurlTransfer) { _ = send(.resume(transfer)) }
  func sendOn(_ transfer: CurlTransfer) { _ = send(.sendOn(transfer)) }
  func fallBack(_ transfer: CurlTransfer) { _ = send(.fallBack(transfer)) }
  func look(_ transfer: CurlTransfer, _ answer: @escaping @Sendable (Bool) -> Void) {
    if !send(.look(transfer, answer)) { answer(false) }
  }
  func use(_ leases: SocketLeases) { _ = send(.use(leases)) }
  func named(_ name: String, _ answer: NameAnswer) { _ = send(.named(name, answer)) }
  func nameTimedOut(_ transfer: CurlTransfer) { _ = send(.namingTimedOut(transfer)) }

  /// Accepts a job. On the loop's own thread it needs neither a lock nor a wake-up.
  func accept(_ job: LoopJob) {
    if isLoopThread { jobs.append(job) } else if !send(.job(job)) { job.job.runElsewhere() }
  }

  /// Ends the loop when no exchange runs on it. `whenClosed` is called after all its sockets are closed.
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
    // One wake-up for a batch: if commands are already waiting, the loop has been woken.
    if isFirst { poller.wake() }
    return isTaken
  }

  // MARK: The loop

  private func run() {
    threadNumber.store(headgate_thread_number(), ordering: .relaxed)
    headgate_block_sigpipe()
    var events: [PollEvent] = []
    var turns = 0
    while true {
      let hadCommands = takeCommands()
      for multi in multis { runTimers(of: multi) }
      let hadEnds = finishTransfers()
      var hasMore = launchWaiting() || hadEnds || hadCommands
      turns = hasMore ? turns + 1 : 0
      if turns % Self.mostTurns > 0 { continue }
      // Jobs run last, after the successors of finished exchanges were started.
      runJobs()
      // What libcurl has done outside its turn may have ended exchanges.
      if hasActed { (hasActed, hasMore) = (false, true) }
      if isDone() { break }
      let deadline = hasMore || !jobs.isEmpty ? .now : multis.reduce(.distantFuture) { min($0, $1.timer) }
      poller.wait(until: deadline, into: &events)
      for event in events {
        guard watches.isWanted(event.descriptor, poller) else {
          spokeUnasked(event.descriptor)
          continue
        }
        // On a shared connection the bytes may be those of other exchanges.
        if event.readable, let socket = watches.socket(of: event.descriptor), socket.users == 1,
          let transfer = socket.user
        {
          if let failure = transfer.heard(at: socket) {
            end(transfer, failure)
            continue
          }
        }
        var mask: Int32 = 0
        // A writable socket is first checked for input: a response that ends the upload may have arrived, followed by
        // the end of the connection, which a write would report first.
        if event.readable || event.writable && hasArrived(at: event.descriptor) { mask |= CURL_CSELECT_IN }
        if event.writable { mask |= CURL_CSELECT_OUT }
        if event.closed && !event.readable { mask |= CURL_CSELECT_ERR }
        action(event.descriptor, mask, on: multis[watches.use(of: event.descriptor).rawValue])
      }
    }
    // A later thread may get the same number and must not be mistaken for the loop.
    threadNumber.store(0, ordering: .relaxed)
    handOverJobs()
    spareHandles = []
    closer = nil
    for multi in multis { multi.cleanUp() }
    leases?.leave()
    let whenClosed = inbox.withLock { inbox in
      inbox.isOver = true
      defer { inbox.whenClosed = [] }
      return inbox.whenClosed
    }
    for call in whenClosed { call() }
  }

  /// Whether the loop is closing and has no exchanges left. If so, it accepts no more commands. Jobs don't count:
  /// they may enqueue others without end, and run elsewhere afterwards.
  private func isDone() -> Bool {
    guard running == 0 else { return false }
    return inbox.withLock { inbox in
      inbox.isClosed = inbox.isClosing && inbox.commands.isEmpty
      return inbox.isClosed
    }
  }

  /// Executes the commands of other threads. Returns whether exchanges may have work at once. Jobs run later in the
  /// turn, so that a thread that enqueues many can't occupy the loop here.
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
      case .look(let transfer, let answer): answer(transfer.use.map { $0.users == 1 && $0.hasArrived } ?? false)
      case .use(let leases): self.leases = leases
      case .reserved(let route):
        if let place = sockets[route.peer] {
          place.reserve(route)
          lineChanged(place)
        } else {
          leases?.stopWaiting(route)
        }
      case .named(let name, let answer): answered(name, answer)
      case .namingTimedOut(let transfer): namingTimedOut(transfer)
      case .reviewIdle: for place in Array(sockets.values) { place.reviewIdle() }
      case .job(let job):
        jobs.append(job)
        jobCount += 1
      }
    }
    return commands.count > jobCount
  }

  // A look at the sockets takes a system call, so there are some turns without one while there is more to do: of libcurl in
  // a turn of the loop, and of the loop. They end, because exchanges that begin and fail at once can go on for ever.
  private static let mostTurns = 8

  private func runTimers(of multi: CurlMulti) {
    for _ in 0..<Self.mostTurns where multi.timer != .distantFuture {
      guard multi.timer <= .now else { return }
      multi.timer = .distantFuture
      action(CURL_SOCKET_TIMEOUT, 0, on: multi)
      if CurlVersion.spinsWhilePaused, multi.timer == .distantPast { multi.setTimer(1) }
    }
  }

  func action(_ descriptor: curl_socket_t, _ mask: Int32, on multi: CurlMulti) {
    var running: Int32 = 0
    isInsideCurl = true
    curl_multi_socket_action(multi.handle, descriptor, mask, &running)
    isInsideCurl = false
  }

  /// libcurl is about to send a request, with the jar's cookies if there is one. See CurlVersion.readsCookiesUnlocked.
  func holdCookies() {
    guard CurlVersion.readsCookiesUnlocked, !holdsCookies, let jar = configuration.cookies else { return }
    jar.hold()
    holdsCookies = true
  }

  /// libcurl has called back or returned, so it is done with the cookies of the request.
  func releaseCookies() {
    guard holdsCookies else { return }
    holdsCookies = false
    configuration.cookies?.release()
  }

  /// An idle connection was closed by its server, or has received unexpected bytes, which must not be read as the
  /// next response. An HTTP/2 server may send at any time; a connection counts as HTTP/2 until a response shows
  /// otherwise.
  private func spokeUnasked(_ descriptor: Int32) {
    guard let socket = watches.socket(of: descriptor) else { return }
    if socket.use == .shared, socket.place.line.speech != .http1 { return }
    socket.place.dropIdle(socket)
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

  // MARK: Sockets

  func watch(_ descriptor: curl_socket_t, _ what: Int32, _ transfer: CurlTransfer?, _ multi: CurlMulti) {
    let interest: PollInterest
    switch what {
    case CURL_POLL_IN: interest = .read
    case CURL_POLL_OUT: interest = .write
    case CURL_POLL_INOUT: interest = [.read, .write]
    default: return watches.unwant(descriptor, poller)
    }
    // A reused connection belongs to the same end-point, so `uses` finds it too. A connection that libcurl closes has no
    // exchange any more.
    let socket = transfer == nil ? watches.socket(of: descriptor) : transfer?.uses(descriptor)
    watches.want(descriptor, interest, of: socket, use: multi.use, poller)
  }

  /// Leaves the response in the socket, or reads it again.
  func holdBack(_ isHeldBack: Bool, _ socket: CurlSocket) { watches.holdBack(isHeldBack, socket.descriptor, poller) }

  func didOpen(_ socket: CurlSocket) { watches.opened(socket) }

  func didForget(_ socket: CurlSocket) { watches.forget(socket) }

  func willClose(_ descriptor: Int32) {
    releaseCookies()
    watches.close(descriptor, poller)
    if !lacking.isEmpty { descriptorsChanged() }
  }

  func forgetIfUnused(_ place: EndPointSockets) {
    // A place that was forgotten may still be among those that changed, while another one is in the table.
    guard place.isUnused, sockets[place.endPoint] === place else { return }
    sockets[place.endPoint] = nil
    if lastPlace === place { lastPlace = nil }
  }
}

// MARK: - The gate's sockets

extension CurlLoop: SocketHolder {
  func socketIsReserved(_ route: SocketRoute) { _ = send(.reserved(route)) }
  func checkIdleConnections() { _ = send(.reviewIdle) }
}
