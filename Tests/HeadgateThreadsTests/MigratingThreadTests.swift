import HeadgateThreads
import Testing

/// The code of docs/migrating.md for NSThread.
@Suite struct MigratingThreadTests {
  private final class Server: Sendable {
    let isListening = Latch()
    let mayEnd = Latch()

    func listen() {
      isListening.countDown()
      _ = mayEnd.wait()
    }
  }

  @Test("NSThread: created, configured, started, examined, joined")
  func life() async throws {
    let server = Server()
    try await onThread {
      let thread = ManagedThread(ThreadAttributes(name: "thread")) { server.listen() }
      try thread.configure { $0.name = "listener" }
      try thread.configure { $0.stackSize = 1 << 20 }
      try thread.configure { $0.priority = .utility }
      #expect(!thread.isRunning)
      try thread.start()
      #expect(server.isListening.wait())
      #expect(thread.isRunning)
      #expect(!thread.hasEnded)
      #expect(thread.name == "listener")
      let stackSize = try #require(thread.stackSize)
      #expect(stackSize >= 1 << 20)
      #expect(!thread.isCancelled)
      thread.cancel()
      #expect(thread.isCancelled)
      server.mayEnd.countDown()
      try thread.join()
      #expect(thread.hasEnded)
      let again = #expect(throws: ThreadError.self) { try thread.start() }
      #expect(again?.code == .alreadyStarted)
    }
  }

  @Test("NSThread: detached, and started at once")
  func detached() async throws {
    let (server, other) = (Server(), Server())
    try ManagedThread.spawnDetached { server.listen() }
    let thread = try ManagedThread.spawn(name: "listener") { other.listen() }
    for server in [server, other] {
      try await onThread { try #require(server.isListening.wait()) }
      server.mayEnd.countDown()
    }
    try await thread.value()
  }

  @Test("NSThread: the calling thread's cancellation, values, sleep and end")
  func current() async throws {
    let slept = Latch()
    try await onThread {
      let thread = try ManagedThread.spawn(name: "listener") { () throws(WaitError) -> Int? in
        let current = ManagedThread.current
        #expect(current.name == "listener")
        #expect(!ManagedThread.isMainThread)
        ManagedThread.dictionary["requests"] = 7
        try ManagedThread.sleep(for: .milliseconds(1))
        try ManagedThread.sleep(until: .after(.milliseconds(1)))
        slept.countDown()
        ManagedThread.yield()
        while !ManagedThread.current.isCancelled { try? ManagedThread.park() }
        return ManagedThread.dictionary["requests", as: Int.self]
      }
      #expect(slept.wait())
      thread.cancel()
      let requests = try thread.join()
      #expect(requests == 7)
      #expect(ManagedThread.dictionary["requests", as: Int.self] == nil)
    }
  }

  @Test("NSThread: a thread ends itself by an error, and its joiner gets the error with its type")
  func ending() async throws {
    try await onThread {
      let thread = try ManagedThread.spawn { () throws(WaitError) in
        ManagedThread.current.cancel()
        try ManagedThread.checkCancellation()
      }
      do throws(JoinError<WaitError>) {
        try thread.join()
        Issue.record("the check did not throw")
      } catch {
        #expect(error.failure?.code == .cancelled)
      }
    }
  }

  @Test("NSThread: an action when a thread exits")
  func exit() async throws {
    let exited = Latch()
    try await onThread {
      let atExit = ThreadLocal { Farewell(exited) }
      let thread = try ManagedThread.spawn { atExit.withValue { _ in } }
      try thread.join()
      #expect(exited.wait())
    }
  }

  #if os(Linux)
  @Test("NSThread: the priority of a running thread")
  func priority() async throws {
    try await onThread {
      let thread = try ManagedThread.spawn { () throws(ThreadError) -> Int in
        try ManagedThread.current.setPriority(.background)
        return try ManagedThread.current.effectivePriority().nice
      }
      let nice = try thread.join()
      #expect(nice == 19)
    }
  }
  #endif
}
