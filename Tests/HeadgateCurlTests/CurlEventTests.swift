#if canImport(Glibc)
import Headgate
import HeadgateTesting
import HeadgateThreads
import Testing

/// Server-sent events over libcurl.
@Suite struct CurlEventTests {
  @Test("events arrive one by one while the stream is open; the second connection reports where the first one ended")
  func events() async throws {
    let (steps, requests) = ([Gate(), Gate()], LockedBox<[String]>([]))
    let server = try RawServer { connection in
      guard let request = connection.request() else { return }
      requests.withLock { $0.append(request) }
      guard connection.number == 0 else {
        connection.send("HTTP/1.1 204 No Content\r\n\r\n")
        return
      }
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\nretry: 20\nid: 1\nda")
      connection.send("ta: first\n\n")
      _ = steps[0].wait(until: .after(.seconds(60)))
      connection.send("event: news\r\ndata: se")
      connection.send("cond\r\n\r\n")
      _ = steps[1].wait(until: .after(.seconds(60)))
      connection.send("id: 2\rdata: cut off")
    }
    defer { server.stop() }
    let dispatcher = try URLDispatcher(limits: GateLimits(endPoint: EndPointLimits(requests: 2, long: 1)))
    var events: [ServerSentEvent] = []
    for try await event in dispatcher.events(from: server.url("/stream")) {
      // The next one is sent only now.
      if events.count < steps.count { steps[events.count].open() }
      events.append(event)
    }
    #expect(events == [.init(data: "first", id: "1"), .init(data: "second", name: "news", id: "1")])
    let (first, second) = (requests.withLock { $0[0] }, requests.withLock { $0[1] })
    #expect(first.contains("Accept: text/event-stream\r\n") && first.contains("Cache-Control: no-store\r\n"))
    #expect(!first.lowercased().contains("last-event-id"))
    #expect(second.lowercased().contains("last-event-id: 1\r\n"))
    // The exchange with status 204 may end after the loop.
    await dispatcher.shutDown()
    #expect(dispatcher.gate.counts.running == 0)
  }

  @Test("the lines of a body")
  func lines() async throws {
    let server = try RawServer { connection in
      guard connection.request() != nil else { return }
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\none\r\ntw")
      connection.send("o\n\n3")
    }
    defer { server.stop() }
    let dispatcher = try URLDispatcher()
    var lines: [String] = []
    for try await line in try await dispatcher.stream(for: server.url()).body.lines() { lines.append(line) }
    #expect(lines == ["one", "two", "", "3"])
    await dispatcher.shutDown()
  }
}
#endif
