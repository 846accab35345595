import HTTPTypes
import HeadgateTesting
import Testing

@testable import HeadgateDispatch

/// When an event stream reconnects, and after what wait.
@Suite struct EventConnectionsTests {
  /// A sequence of connections.
  private final class Course {
    var connections: EventConnections
    private var random = SeededRandom(seed: 1)

    init(_ reconnection: EventReconnection? = EventReconnection()) { connections = EventConnections(reconnection) }

    func end(_ end: EventConnections.End) -> EventConnections.Next { connections.end(end, using: &random) }

    /// The wait that follows. Nil: no reconnection.
    func wait(after end: EventConnections.End) -> Duration? {
      if case .again(let wait) = self.end(end) { return wait }
      return nil
    }

    /// The error that follows.
    func code(after end: EventConnections.End) -> DispatchError.Code? {
      if case .fails(let error) = self.end(end) { return error.code }
      return nil
    }

    func isOver(after end: EventConnections.End) -> Bool {
      if case .over = self.end(end) { return true }
      return false
    }

    /// How the connection ends with this head. Nil: it is open.
    func answer(_ status: Int, _ type: String? = "text/event-stream", retryAfter: String? = nil) -> EventConnections
      .End?
    {
      var fields: HTTPFields = [:]
      fields[.contentType] = type
      fields[.retryAfter] = retryAfter
      return connections.answer(ResponseHead(statusCode: status, headerFields: fields))
    }
  }

  private let lost = EventConnections.End.failed(DispatchError(.connectionLost))

  @Test("the content type of a stream is matched without regard to case and parameters")
  func contentTypes() {
    for type in [
      "text/event-stream", "Text/Event-Stream", "text/event-stream;charset=utf-8", " text/event-stream ; a=b",
    ] {
      #expect(EventConnections.isEventStream(type), "\(type)")
    }
    for type in [nil, "", ";", "text/plain", "text/event-streams", "application/json; x=text/event-stream"] {
      #expect(!EventConnections.isEventStream(type), "\(type ?? "none")")
    }
  }

  @Test("another status or content type ends it for good; 204 without an error")
  func refusals() throws {
    for status in [200, 201, 206, 301, 400, 401, 404, 500, 501] {
      let course = Course()
      let end = try #require(course.answer(status, status == 200 ? "text/html" : "text/event-stream"))
      #expect(course.code(after: end) == .noEventStream)
    }
    let course = Course()
    let end = try #require(course.answer(204, nil))
    #expect(course.isOver(after: end))
    #expect(course.answer(200) == nil)
  }

  @Test(
    "429, 502, 503 and 504 lead to a reconnection, not before their Retry-After", arguments: [429, 502, 503, 504])
  func putOff(status: Int) throws {
    let course = Course()
    let end = try #require(course.answer(status, "text/html", retryAfter: "100"))
    let long = try #require(course.wait(after: end))
    #expect(long >= .seconds(100) && long < .seconds(130))
    let endless = try #require(course.answer(status, "text/html", retryAfter: "99999999999"))
    #expect(try #require(course.wait(after: endless)) < .seconds(86_400 + 3600))
    // A Retry-After shorter than the usual wait does not shorten it.
    let soon = try #require(course.answer(status, "text/html", retryAfter: "0"))
    #expect(try #require(course.wait(after: soon)) >= .seconds(6))
    let once = Course(nil)
    let last = try #require(once.answer(status, nil))
    #expect(once.code(after: last) == .noEventStream)
  }

  @Test(
    "without events the wait doubles to its cap, and an event resets it; a random part only lengthens it"
  )
  func backOff() throws {
    let course = Course()
    for seconds in [3, 6, 12, 24, 48, 60, 60, 60] {
      let wait = try #require(course.wait(after: lost))
      #expect(wait >= .seconds(seconds) && wait < .seconds(seconds) * 1.5)
    }
    course.connections.receive()
    let wait = try #require(course.wait(after: .whole))
    #expect(wait >= .seconds(3) && wait < .milliseconds(4500))
    #expect(course.connections.fruitless == 0)
  }

  @Test("the server's time replaces the default; zero applies only while events arrive")
  func askedTime() throws {
    let slow = Course()
    slow.connections.askedTime = .seconds(200)
    for _ in 0..<5 { #expect(try #require(slow.wait(after: .whole)) >= .seconds(200)) }
    let fast = Course()
    fast.connections.askedTime = .zero
    fast.connections.receive()
    #expect(fast.wait(after: .whole) == .zero)
    #expect(fast.wait(after: .whole) == .zero)
    #expect(try #require(fast.wait(after: .whole)) >= .milliseconds(200))
    for _ in 0..<100 { _ = fast.end(.whole) }
    #expect(try #require(fast.wait(after: .whole)) >= .seconds(60))
  }

  @Test("without reconnection there is one connection, however it ends")
  func once() {
    #expect(Course(nil).isOver(after: .whole))
    #expect(Course(nil).code(after: lost) == .connectionLost)
  }

  @Test("the number of connections in a row without an event is limited")
  func attempts() {
    var reconnection = EventReconnection()
    reconnection.attempts = 3
    let course = Course(reconnection)
    #expect(course.wait(after: lost) != nil)
    course.connections.receive()
    for _ in 0..<3 { #expect(course.wait(after: .whole) != nil) }
    #expect(course.code(after: lost) == .connectionLost)
  }

  @Test(
    "transient failures are retried, the program's own are not; after an open stream more failures count as transient")
  func failures() {
    let always: [DispatchError.Code] = [
      .connectFailed, .connectTimedOut, .connectionLost, .idleTimedOut, .timedOut,
    ]
    let onceOpen: [DispatchError.Code] = [
      .nameNotResolved, .tlsFailed, .proxyFailed, .badResponse, .transportFailed, .longLaneFull, .unreachable,
    ]
    let never: [DispatchError.Code] = [
      .cancelled, .shutDown, .deadlineExceeded, .unsupported, .redirectRefused, .eventTooLarge, .noEventStream,
    ]
    for isOpen in [false, true] {
      for (codes, passes) in [(always, true), (onceOpen, isOpen), (never, false)] {
        for code in codes {
          let course = Course()
          if isOpen { _ = course.answer(200) }
          let end = course.code(after: .failed(DispatchError(code)))
          #expect(end == (passes ? nil : code), "\(code), open: \(isOpen)")
        }
      }
    }
  }

  @Test("in any sequence of events, a wait is at least the base wait, and not much longer than its cap")
  func anyOrder() {
    var random = SeededRandom(seed: 2)
    for _ in 0..<many / 10 {
      let course = Course()
      var fruitless = 0
      for _ in 0..<10 {
        let asked = Bool.random(using: &random) ? Duration.seconds(Int.random(in: 0...300, using: &random)) : nil
        if Bool.random(using: &random) {
          course.connections.askedTime = .milliseconds(Int.random(in: 0...200_000, using: &random))
        }
        let brings = Bool.random(using: &random)
        if brings { course.connections.receive() }
        fruitless = brings ? 0 : fruitless + 1
        let base = max(course.connections.askedTime ?? .seconds(3), asked ?? .zero)
        guard let wait = course.wait(after: .putOff(DispatchError(.noEventStream), asked: asked)) else {
          Issue.record("the stream has ended")
          return
        }
        let cap = fruitless > 1 ? max(base, .seconds(60)) : base
        guard wait >= base, wait <= min(cap * 1.5, cap + .seconds(30)), course.connections.fruitless == fruitless else {
          Issue.record("\(wait) for \(base) after \(fruitless)")
          return
        }
      }
    }
  }
}
