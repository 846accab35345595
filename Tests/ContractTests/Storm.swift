import HTTPTypes
import HeadgateDispatch
import HeadgateFlow
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Synchronization

/// Requests of every form from threads and tasks to many end-points at once, with faults, cancellations, changing
/// limits, redirects, retries and uploads.
final class Storm: Sendable {
  static let endPoints = 20
  static let threads = 8
  static let tasks = 200
  static let highestLimit = 6

  private let origin: Origin
  private let dispatcher: URLDispatcher
  private let end: Deadline
  private let seed: UInt64
  private let spared: Set<String>
  private let submissions = Atomic<Int>(0)
  private let ends = Atomic<Int>(0)

  /// - Parameter spared: Paths that are not requested.
  init(_ origin: Origin, _ dispatcher: URLDispatcher, until end: Deadline, seed: UInt64, sparing spared: Set<String>) {
    self.origin = origin
    self.dispatcher = dispatcher
    self.end = end
    self.seed = seed
    self.spared = spared
    for place in 0..<Self.endPoints { setLimit(Self.limit(of: place), at: place) }
  }

  /// Requests that began.
  var submitted: Int { submissions.load(ordering: .relaxed) }
  /// Ends that were reported. A request that ends twice counts twice.
  var ended: Int { ends.load(ordering: .relaxed) }

  /// The limit of an end-point. Every second one keeps it. The others' change all the time, up to the highest.
  static func limit(of place: Int) -> Int { place % 2 == 0 ? 1 + place / 2 % highestLimit : highestLimit }

  func run() async {
    let workers = (0..<Self.threads).map { number in
      ManagedThread<Void, Never>(ThreadAttributes(name: "storm-\(number)")) { [self] in
        var random = SeededRandom(seed: seed &+ UInt64(10_000 + number))
        play { blocking(&random) }
      }
    }
    for worker in workers { try? worker.start() }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<Self.tasks {
        group.addTask { [self] in
          var random = SeededRandom(seed: seed &+ UInt64(number))
          // At least a few, even if the task is scheduled late. None would prove nothing.
          var played = 0
          while played < 3 || .now < end {
            played += 1
            await suspending(&random)
          }
        }
      }
      group.addTask { [self] in await changes() }
    }
    for worker in workers { try? await worker.value() }
  }

  private func play(_ once: () -> Void) {
    var played = 0
    while played < 3 || .now < end {
      played += 1
      once()
    }
  }

  private func begun() { submissions.add(1, ordering: .relaxed) }
  private func told() { ends.add(1, ordering: .relaxed) }

  // MARK: Requests

  private func request(_ random: inout SeededRandom) -> DispatchRequest? {
    func place(_ random: inout SeededRandom) -> Int { Int.random(in: 0..<Self.endPoints, using: &random) }
    let paths = [
      "/", "/bytes/100", "/bytes/300000", "/status/404", "/status/503", "/status/503?retry-after=0", "/delay/3",
      "/reset", "/reset?after=50000", "/short?declared=5000&sent=100", "/close", "/garbage", "/torn",
      "/gzip?bytes=50000", "/headers?bytes=5000", "/stream?chunks=5&every=1&size=1000", "/silence",
      "/trickle?bytes=20&every=1", "/echo", "/early?after=1000",
      "/redirect?to=" + origin.url("/bytes/10", endPoint: place(&random)),
      "/redirect?size=80000&to=" + origin.url("/delay/2", endPoint: place(&random)),
      "/redirect?to=" + origin.url("/reset", endPoint: place(&random)),
    ]
    let path = paths.filter { !spared.contains($0) }.randomElement(using: &random) ?? "/"
    guard var request = try? DispatchRequest(origin.url(path, endPoint: place(&random))) else { return nil }
    if path.hasPrefix("/e") {
      request.method = .put
      request.body = RequestBody(Array(repeating: 7, count: Int.random(in: 0...100_000, using: &random)))
    }
    request.timeout = .milliseconds(Int.random(in: 5...300, using: &random))
    request.timeoutEndsWithHead = false
    if Bool.random(using: &random) { request.deadline = .milliseconds(Int.random(in: 1...600, using: &random)) }
    if Int.random(in: 0..<4, using: &random) == 0 { request.idleTimeout = .milliseconds(50) }
    if Int.random(in: 0..<3, using: &random) == 0 {
      let backoff = Backoff(first: .milliseconds(2), maximum: .milliseconds(20))
      request.retry = RetryPolicy(attempts: 3, backoff: backoff, budget: .none)
    }
    request.priority = RequestPriority.allCases.randomElement(using: &random) ?? .normal
    if Int.random(in: 0..<10, using: &random) == 0 { request.tag = "some" }
    return request
  }

  private func blocking(_ random: inout SeededRandom) {
    guard let request = request(&random) else { return }
    begun()
    if Bool.random(using: &random) {
      _ = try? dispatcher.dispatchSynchronously(request)
      return told()
    }
    let over = Gate()
    let operation = dispatcher.dispatch(request) { [self] _ in
      told()
      over.open()
    }
    if Bool.random(using: &random) { operation.cancel() }
    _ = over.wait(until: .after(.seconds(120)))
  }

  private func suspending(_ random: inout SeededRandom) async {
    guard let request = request(&random) else { return }
    begun()
    switch Int.random(in: 0..<8, using: &random) {
    case 0:
      let response = try? await dispatcher.stream(for: request, lane: Bool.random(using: &random) ? .long : .short)
      if Bool.random(using: &random) { _ = try? await response?.body.collect(upTo: 1 << 20) }
      told()
    case 1:
      let task = Task { try await dispatcher.data(for: request) }
      if Bool.random(using: &random) { await Task.yield() }
      task.cancel()
      _ = await task.result
      told()
    case 2:
      let over = Gate()
      let operation = dispatcher.dispatch(request) { [self] _ in
        told()
        over.open()
      }
      if Bool.random(using: &random) { operation.priority = .urgent }
      if Bool.random(using: &random) { operation.cancel() }
      await over.waitInAnyCase()
    case 3:
      let listener = EndListener { [self] in told() }
      let operation = dispatcher.dispatchShort(request, delegate: listener)
      if Int.random(in: 0..<3, using: &random) == 0 { operation.cancel() }
      await listener.over.waitInAnyCase()
      // A released delegate cancels its request, and gets no calls.
      withExtendedLifetime(listener) {}
    case 4:
      let listener = EndListener { [self] in told() }
      if dispatcher.tryDispatchLong(request, delegate: listener) == nil {
        told()
      } else {
        await listener.over.waitInAnyCase()
      }
      withExtendedLifetime(listener) {}
    default:
      _ = try? await dispatcher.data(for: request)
      told()
    }
  }

  // // MARK: Concurrent changes

  private func changes() async {
    var random = SeededRandom(seed: seed &+ 20_000)
    while .now < end {
      let place = 1 + 2 * Int.random(in: 0..<Self.endPoints / 2, using: &random)
      setLimit(Int.random(in: 1...Self.highestLimit, using: &random), at: place)
      var limits = dispatcher.limits
      if let changed = try? GateLimits(
        endPoint: limits.endPoint, total: Int.random(in: 10...60, using: &random), waiting: limits.waiting,
        overflow: limits.overflow)
      {
        limits = changed
        limits.pauses = nil
        limits.overrides = dispatcher.limits.overrides
        dispatcher.setLimits(limits)
      }
      switch (Int.random(in: 0..<10, using: &random), endPoint(place)) {
      case (0, _): dispatcher.cancelAll(tag: "some")
      case (1, let endPoint?): dispatcher.cancelAll(to: endPoint)
      case (2, let endPoint?):
        dispatcher.gate.stop(endPoint)
        _ = try? await dispatcher.data(for: origin.url("/delay/5", endPoint: 0))
        dispatcher.gate.resume(endPoint)
      default: break
      }
      _ = try? await dispatcher.data(for: origin.url("/delay/5", endPoint: place))
    }
  }

  private func endPoint(_ place: Int) -> EndPoint? { try? EndPoint(host: "127.0.0.1", port: Int(origin.ports[place])) }

  private func setLimit(_ limit: Int, at place: Int) {
    if let endPoint = endPoint(place), let limits = try? EndPointLimits(requests: limit) {
      dispatcher.setLimits(limits, for: endPoint)
    }
  }
}

/// Records a request's end, under any name.
private final class EndListener: URLDispatchDelegate {
  let over = Gate()
  private let told: @Sendable () -> Void

  init(_ told: @escaping @Sendable () -> Void) { self.told = told }

  private func ended() {
    told()
    over.open()
  }

  func dispatchOperationDidFinish(_ operation: URLDispatchOperation) { ended() }
  func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError) { ended() }
  func dispatchOperationWasCancelled(_ operation: URLDispatchOperation) { ended() }
}
