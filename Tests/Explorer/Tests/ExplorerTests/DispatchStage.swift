import Exploring
import HeadgateThreads

@testable import HeadgateDispatch
@testable import HeadgateGate

/// Dispatchers with everything that they need, played by a script's threads: the server, the clock, the consumers.
final class DispatchStage: Sendable {
  /// The initial state of a script.
  struct Setting: Sendable {
    /// The limit of an end-point, and the maximum during the script.
    var limit = 1
    var most: Int?
    /// Over all end-points.
    var total: Int?
    var waiting = 100
    /// The number of dispatchers that share the gate, which belongs to the first one.
    var dispatchers = 1
    var interceptors: [any RequestInterceptor] = []
  }

  private struct Weak {
    weak var object: AnyObject?
  }

  private struct State {
    var dispatchers: [URLDispatcher] = []
    var operations: [DispatchOperation] = []
    var kept: [AnyObject] = []
    var expectations: [@Sendable () -> String?] = []
    var leftover: [Weak] = []
    var fault: String?
  }

  /// The target of requests, unless a script specifies another.
  let endPoint: EndPoint
  let timers = ScriptTimers()
  let server: ScriptServer
  private let transports: [ScriptServer.Transport]
  private let state = Unseen(State())
  private let witnesses = Unseen<[Witness]>([])

  init(_ setting: Setting) throws {
    let server = ScriptServer(limit: setting.most ?? setting.limit)
    self.server = server
    endPoint = try EndPoint(host: "a.test", port: 80)
    transports = (0..<setting.dispatchers).map { _ in ScriptServer.Transport(server) }
    let limits = try Self.limits(setting.limit, total: setting.total, waiting: setting.waiting)
    let first = URLDispatcher(
      transport: transports[0], limits: limits, timers: timers, interceptors: setting.interceptors)
    let others = transports.dropFirst().map {
      URLDispatcher(transport: $0, sharing: first.gate, interceptors: setting.interceptors)
    }
    state.use { $0.dispatchers = [first] + others }
  }

  static func limits(_ limit: Int, total: Int? = nil, waiting: Int = 100) throws -> GateLimits {
    try GateLimits(endPoint: EndPointLimits(requests: limit, keepsRoomForShort: false), total: total, waiting: waiting)
  }

  // MARK: Operations of the threads

  func dispatcher(_ number: Int = 0) -> URLDispatcher { state.use { $0.dispatchers[number] } }
  var gate: EndPointGate { dispatcher().gate }
  func operation(_ number: Int) -> DispatchOperation { state.use { $0.operations[number] } }
  var consumers: [Witness] { witnesses.use { $0 } }
  func consumer(_ number: Int) -> Witness { witnesses.use { $0[number] } }

  /// Creates a request without submitting it. Returns its number.
  @discardableResult
  func make(
    _ path: String = "/", host: String = "a", by dispatcher: Int = 0, pauses: Bool = false,
    isForInterceptor: Bool = false, _ change: (inout DispatchRequest) -> Void = { _ in }
  ) throws -> Int {
    var request = try DispatchRequest("http://\(host).test\(path)")
    change(&request)
    let consumer = Witness(pauses: pauses)
    let core = self.dispatcher(dispatcher).core
    let operation = DispatchOperation(request, .short, core, consumer, age: isForInterceptor ? core.now : nil)
    witnesses.use { $0.append(consumer) }
    return state.use { state in
      state.operations.append(operation)
      return state.operations.count - 1
    }
  }

  /// Submits a request.
  func send(_ number: Int) { operation(number).submit(patience: .waits, mayBeHeld: false) }

  /// Creates and submits a request. Returns its number.
  @discardableResult
  func submit(
    _ path: String = "/", host: String = "a", by dispatcher: Int = 0, pauses: Bool = false,
    isForInterceptor: Bool = false, _ change: (inout DispatchRequest) -> Void = { _ in }
  ) throws -> Int {
    let number = try make(
      path, host: host, by: dispatcher, pauses: pauses, isForInterceptor: isForInterceptor, change)
    send(number)
    return number
  }

  func cancel(_ number: Int) { operation(number).cancel() }

  /// Plays the existing exchanges, and those that follow from them, to their ends.
  func playAll(pieces: Int = 0) {
    while let exchange = server.next() { exchange.respond(pieces: pieces) }
  }

  /// Plays the first request's exchange once it has begun, unless the request ends before.
  func playFirst(pieces: Int = 0) {
    while !consumer(0).hasEnded {
      if let exchange = server.next() { return exchange.respond(pieces: pieces) }
      Here.yield()
    }
  }

  /// Has room again after each of this many pieces.
  func resumeEach(_ number: Int, pieces: Int) {
    for piece in 1...pieces {
      while consumer(number).pieces < piece, !consumer(number).hasEnded { Here.yield() }
      operation(number).resume()
    }
  }

  /// Retains an object until the script's end, when nothing else may retain it.
  func keep(_ object: AnyObject) { state.use { $0.kept.append(object) } }

  /// Checks the state once the requests have ended, before the dispatchers do. A reason is a failure.
  ///
  /// - Parameter first: Whether before the earlier checks.
  func expect(first: Bool = false, _ look: @escaping @Sendable () -> String?) {
    state.use { $0.expectations.insert(look, at: first ? 0 : $0.expectations.count) }
  }

  // MARK: The end

  /// The script's last thread: ends everything that is running, and releases all objects.
  func finish() {
    if state.use({ $0.operations }).contains(where: isForgotten) { server.violated("a request waits that has ended") }
    finishRequests()
    let unlike = state.use { $0.expectations }.map { $0() }.compactMap(\.self).first
    let dispatchers = state.use { $0.dispatchers }
    for dispatcher in dispatchers.reversed() { dispatcher.beginShutDown(.drain) }
    let fault =
      unlike ?? consumers.compactMap(\.fault).first ?? server.faults.first ?? leftover(dispatchers)
    // Released by this thread, once the state is unlocked.
    let kept = state.use { state in
      defer { (state.dispatchers, state.operations, state.kept, state.expectations) = ([], [], [], []) }
      let objects = dispatchers.flatMap { [$0, $0.core, $0.gate] as [AnyObject] } + state.operations + state.kept
      state.leftover = objects.map { Weak(object: $0) }
      state.fault = fault
      return state
    }
    withExtendedLifetime(kept) {}
  }

  /// Whether the gate counts a request that has ended.
  private func isForgotten(_ operation: DispatchOperation) -> Bool {
    guard case .over = operation.state.withLock({ $0.stage }) else { return false }
    return gate.clients(at: nil).contains { $0 === operation }
  }

  private func finishRequests() {
    // Tasks make requests proceed as well; a request that nothing makes proceed waits for ever.
    var looks = 0
    while looks < 100 {
      if let exchange = server.next() {
        if exchange.isForgotten { server.violated("an exchange goes on though its request has ended") }
        exchange.end()
      } else if consumers.allSatisfy(\.hasEnded) {
        return
      } else if let backingOff = state.use({ $0.operations }).first(where: { $0.state.withLock { $0.isBackingOff } }) {
        if backingOff.isClosing { server.violated("a request backs off though its dispatcher closes") }
        timers.fire()
      } else {
        looks += 1
        Here.yield()
      }
    }
  }

  private func leftover(_ dispatchers: [URLDispatcher]) -> String? {
    let gate = dispatchers[0].gate
    let (counts, broken, expected) = (
      gate.counts, gate.state.withLock { $0.scheduler.brokenInvariant(inFull: true) },
      gate.state.withLock { $0.scheduler.expected }
    )
    if let broken { return broken }
    if counts.running != 0 { return "\(counts.running) permits are held" }
    if counts.waiting != 0 { return "\(counts.waiting) requests wait" }
    if expected != 0 { return "\(expected) requests are expected" }
    if gate.sockets.openCount != 0 { return "\(gate.sockets.openCount) sockets are open" }
    if timers.count != 0 { return "\(timers.count) timers are left" }
    if dispatchers.contains(where: { $0.core.operations.ended.value == nil }) { return "a dispatcher has not ended" }
    if dispatchers.contains(where: { !$0.gate.outside.isEmpty }) {
      return "a request is still outside the gate"
    }
    return transports.allSatisfy { $0.endCount == 1 } ? nil : "a transport was not shut down once"
  }

  /// The failures after all objects are released.
  var fault: String? {
    state.use { state in
      if let fault = state.fault { return fault }
      return state.leftover.compactMap(\.object).first.map { "\(type(of: $0)) is still there" }
    }
  }
}
