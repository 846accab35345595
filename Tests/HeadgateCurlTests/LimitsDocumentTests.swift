import Foundation
import Headgate
import HeadgateTesting
import Testing

// What docs/limits.md shows, as it stands there.

/// docs/limits.md shows no code but this, and every public limit.
@Suite struct LimitsDocumentTests {
  private final class Rows: Sendable {
    private let count = LockedBox(0)
    var value: Int { count.withLock { $0 } }
    func add(_ more: Int) { count.withLock { $0 += more } }
  }

  @Test("the limits of a dispatcher")
  func dispatcher() async throws {
    var limits = try GateLimits(
      endPoint: EndPointLimits(requests: 4, long: 2), total: 200, waiting: 10_000, overflow: .wait)
    limits.rules[try HostPattern("*.example.com")] = try EndPointLimits(requests: 2)
    limits.overrides[try EndPoint("https://api.example.com/")] = try EndPointLimits(
      requests: 100, connections: 2, weight: 4)
    let dispatcher = try URLDispatcher(limits: limits, maxBodyMemory: 64 << 20)
    #expect((dispatcher.limits.total, dispatcher.limits.waiting) == (200, 10_000))
    let endPoint = try EndPoint("https://api.example.com/")
    dispatcher.setLimits(limits)
    dispatcher.setLimits(try EndPointLimits(requests: 8), for: endPoint)
    #expect(dispatcher.gate.counts.running == 0)
    await dispatcher.shutDown()
  }

  @Test("the limits of a request")
  func request() throws {
    var request = try DispatchRequest("https://api.example.com/items")
    request.timeout = .seconds(10)
    request.deadline = .seconds(60)
    request.connectTimeout = .seconds(3)
    request.idleTimeout = .seconds(20)
    request.maxBodyBytes = 1 << 20
    request.maxDownloadBytes = 1 << 30
    request.minimumSpeed = TransferSpeed(bytesPerSecond: 1000, over: .seconds(30))
    request.maxRedirects = 5
    #expect(request.deadline == .seconds(60))
  }

  @Test("until when, in a task and on a thread")
  func untilWhen() async throws {
    let (gate, endPoint, rows) = (EndPointGate(), try EndPoint(host: "limits.example", port: 1), Rows())
    try await gate.withPermit(for: endPoint, deadline: .seconds(5)) { rows.add(1) }
    let thread = try ManagedThread.spawn(name: "rows") {
      let limit = Deadline.after(.seconds(5))
      try gate.withPermit(for: endPoint, until: limit) { rows.add(1) }
    }
    try await thread.value()
    #expect(rows.value == 2)
  }

  // Only compiled, since no server here issues tokens.
  private func settle(_ request: DispatchRequest, _ dispatcher: URLDispatcher) async throws {
    var request = request
    request.settlement = { head in head[.contentLength].flatMap { Int($0) }.map { ["tokens": $0] } }
    let response = try await dispatcher.data(for: request)
    response.settle(["tokens": 1_234])
  }

  @Test("bandwidth")
  func bandwidth() throws {
    var shared = try GateLimits(endPoint: .standard, bandwidth: 20_000_000)
    let mirror = try EndPointLimits(requests: 4, bandwidth: 5_000_000)
    shared.overrides[try EndPoint("https://mirror.example.com/")] = mirror
    #expect(shared.bandwidth == 20_000_000 && shared.overrides.first?.value.bandwidth == 5_000_000)
  }

  @Test("rates, weights, scopes, and the reason for a wait")
  func reasons() async throws {
    let (dispatcher, rows) = (try URLDispatcher(), Rows())
    var request = try DispatchRequest("https://api.example.com/items")
    // Nothing is sent.
    dispatcher.gate.stop(request.endPoint)
    let paced = try EndPointLimits(
      requests: 4, rates: [.spaced(10, per: .seconds(1)), .rolling(100, per: .seconds(60))])
    dispatcher.setLimits(paced, for: try EndPoint("https://api.example.com/"))
    #expect(dispatcher.limits.overrides[request.endPoint]?.rates.count == 2)
    let budgeted = try EndPointLimits(requests: 8, budgets: [Budget("tokens", units: 90_000, per: .seconds(60))])
    dispatcher.setLimits(budgeted, for: try EndPoint("https://api.example.com/"))
    try dispatcher.updateLimits {
      $0.scopes[.key("acct-7")] = try ScopeLimits(requests: 2, rates: [Rate("60/min")])
    }
    request.scopes = [.key("acct-7"), .route("POST /messages")]
    request.weights = ["tokens": 4_096]
    let operation = dispatcher.dispatch(request) { _ in rows.add(1) }
    operation.settle(["tokens": 1_234])
    print(operation.waitReason.map(\.description) ?? "runs")
    print(dispatcher.snapshot())
    #expect(operation.waitReason?.description == "stopped")
    await dispatcher.shutDown(.now)
    #expect(rows.value == 1)
  }

  @Test("learned limits, and what they have learned")
  func learning() async throws {
    let dispatcher = try URLDispatcher()
    var limits = dispatcher.limits
    try dispatcher.updateLimits {
      $0.endPoint = try EndPointLimits(requests: 32)
      $0.adaptive = AdaptivePolicy()
    }
    let text = dispatcher.gate.learned.description
    limits.adaptive = AdaptivePolicy(remembered: LearnedLimits(text))
    #expect(text.isEmpty && limits.adaptive == dispatcher.limits.adaptive)
    await dispatcher.shutDown()
  }

  @Test("the document shows only code that is compiled here, and names every limit")
  func document() throws {
    let shown = try DocumentedCode("limits.md")
    #expect(try shown.lines(missingIn: #filePath) == [])
    #expect(shown.lines.count > 15)
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    // The properties of their errors are not limits.
    let others: Set<Substring> = ["description", "codeName"]
    for type in ["EndPointLimits", "GateLimits"] {
      let source = try DocumentedCode.code(of: root.path + "/Sources/HeadgateGate/Limits/\(type).swift")
      let kinds = ["public let ", "public var ", "public package(set) var "]
      for line in source where kinds.contains(where: { line.hasPrefix($0) }) {
        let name = line.prefix { $0 != ":" }.split(separator: " ").last ?? ""
        guard !others.contains(name) else { continue }
        #expect(shown.spans.contains("\(type).\(name)"), "\(type).\(name) is not in docs/limits.md")
      }
    }
  }
}
