import HeadgateDispatch
import HeadgateLibC
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateGate
@testable import HeadgateSharing

/// Pauses that reach other programs through a permit server, over real sockets.
@Suite struct SharedPauseTests {
  private let place = SharingPlace()
  private let endPoint: EndPoint

  init() throws { endPoint = try EndPoint(host: "a.example", port: 80) }

  private func gate(requests: Int = 4) throws -> EndPointGate {
    EndPointGate(
      limits: try GateLimits(endPoint: EndPointLimits(requests: requests)),
      coordinator: UnixCoordinator(folder: place.folder))
  }

  private func pause(_ left: Duration, status: Int? = 429) throws -> SharedPause {
    try #require(SharedPause(at: endPoint, left: left, .refused(status: status)))
  }

  @Test("a refusal that one program reports pauses the others, and one that asks later")
  func reported() async throws {
    let server = try #require(try PermitServer.start(in: place.folder))
    let (first, second, third) = (try gate(), try gate(), try gate())
    try await second.permit(for: endPoint).release()
    let permit = try await first.permit(for: endPoint)
    let (heard, told) = AsyncStream.makeStream(of: SharedPause.self)
    (second.coordinator as? any PauseSharing)?.whenPaused { pause in
      told.yield(pause)
      return true
    }
    permit.report(.refused(retryAfter: .seconds(40)))
    permit.release()
    var pauses = heard.makeAsyncIterator()
    let pause = try #require(await pauses.next())
    #expect(pause.endPoint == endPoint && pause.cause == .refused(status: nil))
    #expect(pause.left > .seconds(30) && pause.left <= .milliseconds(40_001))
    // One that is to end within the pause ends at once: its own gate knows.
    for gate in [second, third] {
      await #expect(throws: DispatchError.self) { try await gate.permit(for: endPoint, deadline: .seconds(20)) }
    }
    #expect(second.pause(at: endPoint) != nil && third.pause(at: endPoint) != nil)
    server.stop()
  }

  @Test("a program that only tells of a pause reaches those that wait, and the next server")
  func told() async throws {
    #expect(try PermitPauses.tell(pause(.seconds(9)), in: place.folder) == .noServer)
    let server = try #require(try PermitServer.start(in: place.folder))
    let gate = try gate(requests: 1)
    let permit = try await gate.permit(for: endPoint)
    #expect(try PermitPauses.tell(pause(.seconds(90), status: 503), in: place.folder) == .told)
    let late = Task { try await self.gate().permit(for: endPoint, deadline: .seconds(60)) }
    await #expect(throws: DispatchError.self) { try await late.value }
    permit.release()
    server.stop()
  }

  @Test("a server that does not answer is not waited for without end")
  func stoppedServer() throws {
    try place.folder.prepare()
    let listener = try LocalSocket.listen(at: place.folder.socket)
    #expect(throws: SharingError.self) {
      try PermitPauses.tell(self.pause(.seconds(9)), in: self.place.folder, within: .zero)
    }
    StreamSocket.close(listener)
  }

  @Test("a short pause ends by itself: nobody waits for ever")
  func short() async throws {
    let server = try #require(try PermitServer.start(in: place.folder))
    let gates = try (0..<3).map { _ in try gate() }
    for gate in gates { try await gate.permit(for: endPoint).release() }
    let end = Deadline.after(.milliseconds(95))
    #expect(try PermitPauses.tell(pause(.milliseconds(100)), in: place.folder) == .told)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for gate in gates + gates + gates {
        group.addTask {
          let permit = try await gate.permit(for: endPoint)
          #expect(.now >= end)
          permit.release()
        }
      }
      try await group.waitForAll()
    }
    server.stop()
  }

  @Test("a verb that the server does not know is answered, and the connection goes on")
  func unknownVerb() throws {
    let server = try #require(try PermitServer.start(in: place.folder))
    var channel = try PermitChannel(place.folder)
    defer { channel.close() }
    try channel.send(.unknown("wish"))
    try channel.send(.status)
    let soon = Deadline.after(.seconds(30))
    #expect(channel.next(until: soon) == .knows(["pause"]))
    #expect(channel.next(until: soon) == .unknown("wish"))
    guard case .status? = channel.next(until: soon) else {
      Issue.record("the connection has ended")
      return
    }
    server.stop()
  }

  @Test("a server of an earlier version says nothing by itself, is told of no pause, and grants permits as ever")
  func earlierServer() async throws {
    try place.folder.prepare()
    let listener = try LocalSocket.listen(at: place.folder.socket)
    let said = Locked<[String]>([])
    let thread = try WorkerThread(name: "earlier") { [folder = place.folder] in
      try? EarlierServer(listener, folder).serve(connections: 2) { line in said.withLock { $0.append(line) } }
    }
    let gate = try gate()
    let permit = try await gate.permit(for: endPoint)
    permit.report(.refused(retryAfter: .seconds(1)))
    permit.release()
    gate.coordinator?.shutDown()
    #expect(try PermitPauses.tell(pause(.seconds(9)), in: place.folder) == .earlierServer)
    thread.join()
    let verbs = said.withLock { $0 }.map { String($0.prefix { $0 != " " }) }
    #expect(verbs.prefix(3) == ["limit", "ask", "taken"])
    #expect(!verbs.contains("pause") && verbs.last == "status")
    StreamSocket.close(listener)
  }
}

/// Answers as servers did before pauses were shared, one connection after another.
private struct EarlierServer {
  private let listener: Int32
  private let folder: PermitFolder

  init(_ listener: Int32, _ folder: PermitFolder) { (self.listener, self.folder) = (listener, folder) }

  func serve(connections: Int, _ hear: (String) -> Void) throws {
    let poller = try Poller()
    var events: [PollEvent] = []
    poller.add(listener, .read)
    var buffer = [UInt8](repeating: 0, count: 4096)
    for _ in 0..<connections {
      var socket = try LocalSocket.accept(listener)
      while socket == nil {
        poller.wait(until: .distantFuture, into: &events)
        socket = try LocalSocket.accept(listener)
      }
      guard let socket else { return }
      poller.add(socket, .read)
      var pipes: [PermitPipe] = []
      var received: [UInt8] = []
      reading: while true {
        switch StreamSocket.receive(socket, into: &buffer) {
        case .ended: break reading
        case .blocked: poller.wait(until: .distantFuture, into: &events)
        case .bytes(let count): received += buffer[..<count]
        }
        while let end = received.firstIndex(of: 10) {
          let line = String(decoding: received[..<end], as: UTF8.self)
          received.removeSubrange(...end)
          hear(line)
          if line.hasPrefix("ask ") {
            let path = folder.pipe(UInt64(pipes.count + 1))
            pipes.append(try PermitPipe.create(at: path))
            let number = line.split(separator: " ")[1]
            _ = StreamSocket.send(socket, Array("granted \(number) 1 \(path)\n".utf8)[...])
          } else if line == "status" {
            _ = StreamSocket.send(socket, Array("status programs connected: 0\nend\n".utf8)[...])
          } else if !["limit", "taken", "release", "cancel"].contains(where: { line.hasPrefix($0) }) {
            // It hangs up.
            _ = StreamSocket.send(socket, Array("error unknown command: \(line)\n".utf8)[...])
            break reading
          }
        }
      }
      poller.remove(socket)
      StreamSocket.close(socket)
      for var pipe in pipes { pipe.closeAll() }
    }
  }
}
