import HeadgateDispatch
import HeadgateTesting
import Testing

@Suite struct SnapshotTests {
  @Test("a snapshot has each end-point that is stopped or has running or waiting requests, and prints as a table")
  func snapshot() async throws {
    let bench = try Bench(requests: 2, long: 1, total: 50)
    let responses = Responses()
    for number in 0..<5 {
      var request = try bench.request(host: "busy.example")
      // The last one is the first in line, and not the oldest.
      if number == 4 { request.priority = .urgent }
      bench.send(request, into: responses)
      bench.clock.advance(by: .milliseconds(500))
    }
    bench.send(try bench.request(host: "calm.example"), into: responses)
    bench.dispatcher.gate.stop(try bench.request(host: "calm.example").endPoint)
    bench.dispatcher.gate.stop(try bench.request(host: "idle.example").endPoint)
    bench.clock.advance(by: .seconds(10))
    let snapshot = bench.dispatcher.snapshot()
    #expect((snapshot.running, snapshot.waiting, snapshot.total) == (3, 3, 50))
    #expect(snapshot.endPoints.map(\.endPoint.host) == ["busy.example", "calm.example", "idle.example"])
    let busy = snapshot.endPoints[0]
    #expect(
      (busy.running, busy.runningLong, busy.waitingShort, busy.waitingLong, busy.isStopped) == (2, 0, 3, 0, false))
    #expect(busy.oldestWait.map { $0 / .seconds(1) } == 11.5)
    #expect(snapshot.endPoints[1].oldestWait == nil)
    #expect(
      snapshot.description == """
        running 3 of 50, waiting 3
        end-point        running  long  waiting  oldest  limit                        waits for
        busy.example:80        2     0        3  11.5 s  2 (1 long)                   limit 2/2
        calm.example:80        1     0        0       -  2 (1 long), stopped by hand  -
        idle.example:80        0     0        0       -  2 (1 long), stopped by hand  -
        """)
    bench.dispatcher.dispose()
  }

  @Test("the limit on connections is shown if it is below that on requests")
  func connections() throws {
    let bench = try Bench()
    try bench.dispatcher.updateLimits { $0.endPoint = try EndPointLimits(requests: 100, connections: 2) }
    bench.send(try bench.request(), into: Responses())
    #expect(
      bench.dispatcher.snapshot().description == """
        running 1 of 100, waiting 0
        end-point  running  long  waiting  oldest  limit                        waits for
        a:80             1     0        0       -  100 (1 long, 2 connections)  -
        """)
    bench.dispatcher.dispose()
  }

  @Test("a scope has its own line, with the reason of its waits")
  func scopes() throws {
    let bench = try Bench(requests: 4)
    try bench.dispatcher.updateLimits { $0.scopes[.key("x")] = try ScopeLimits(requests: 1) }
    for scope in [RequestScope.key("x"), .key("x"), .group("free")] {
      var request = try bench.request()
      request.scopes = [scope]
      bench.send(request, into: Responses())
    }
    let snapshot = bench.dispatcher.snapshot()
    #expect(snapshot.scopes.map(\.scope) == [.key("x"), .group("free")])
    #expect(snapshot.scopes.map(\.waitReason?.kind) == [.scope, nil])
    #expect(
      snapshot.description == """
        running 2 of 100, waiting 1
        end-point   running  long  waiting  oldest  limit       waits for
        a:80              2     0        1    0 ms  4 (2 long)  key x: limit 1/1
        key x             1     -        1       -  1           limit 1/1
        group free        1     -        0       -  -           -
        """)
    bench.dispatcher.dispose()
  }

  @Test("the snapshot of an idle gate is a single line")
  func idle() throws {
    let bench = try Bench(total: 7)
    #expect(bench.dispatcher.gate.snapshot().description == "running 0 of 7, waiting 0")
    #expect(bench.dispatcher.gate.snapshot().endPoints.isEmpty)
  }
}
