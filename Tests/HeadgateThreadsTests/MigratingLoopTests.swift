import HeadgateThreads
import Testing

/// The code of docs/migrating.md for NSObject's performSelector family, NSRunLoop and CFRunLoop.
@Suite struct MigratingLoopTests {
  private final class View: Sendable {
    let events = Record<String>()
    let isDrawn: Latch

    init(draws: Int = 1) { isDrawn = Latch(draws) }

    func draw() {
      events.add("draw")
      isDrawn.countDown()
    }

    func draw(_ text: String) { events.add(text) }

    func size() -> Int { 5 }

    func handleKeys() { events.add("keys") }
  }

  private final class Input: Sendable {
    let isRead = Latch()
    private let pipe: TestPipe

    init(_ pipe: TestPipe) { self.pipe = pipe }

    func read() {
      pipe.take()
      isRead.countDown()
    }
  }

  @Test("performSelector on a thread: without waiting, with, and in the background")
  func onOneThread() async throws {
    let view = View(draws: 4)
    let loop = try ThreadLoop(name: "ui")
    loop.perform { view.draw() }
    loop.perform { view.draw("hello") }
    let size = try await loop.performAndWait { view.size() }
    #expect(size == 5)
    let again = try await onThread { try loop.performAndWait { view.size() } }
    #expect(again == 5)
    #expect(view.events.events == ["draw", "hello"])
    await MainActor.run { view.draw() }

    let pool = try ThreadPool(name: "background", size: 1)
    try ManagedThread.spawnDetached { view.draw() }
    try pool.execute { view.draw() }
    try await onThread { try #require(view.isDrawn.wait()) }
    pool.dispose()
    loop.stop()
    try await loop.join(until: .after(generous))
  }

  @Test("performSelector after a delay, and its cancellation by target, selector and argument")
  func delayed() async throws {
    let view = View()
    let loop = try ThreadLoop(name: "ui")
    try loop.perform(after: .milliseconds(2), owner: view, key: "draw") { view.draw() }
    try await onThread { try #require(view.isDrawn.wait()) }
    for text in ["", "hello"] {
      try loop.perform(after: .seconds(60), owner: view, key: ["draw", text]) { view.draw(text) }
    }
    try loop.perform(after: .seconds(60), owner: view, key: "draw") { view.draw() }
    #expect(loop.cancelAll(owner: view, key: "draw") == 1)
    #expect(loop.cancelAll(owner: view, key: ["draw", "hello"]) == 1)
    #expect(loop.cancelAll(owner: view) == 1)
    loop.stop()
    #expect(view.events.events == ["draw"])
  }

  @Test("NSRunLoop: the thread's own loop, run until a date, for one event, until it is stopped")
  func run() async throws {
    let view = View()
    let ends = try await onThread {
      let loop = ThreadLoop.current
      loop.perform { view.draw() }
      var ends = [try loop.runOnce(timeout: .seconds(60))]
      ends.append(try loop.runOnce())
      ends.append(try loop.run(until: .after(.milliseconds(2))))
      loop.perform { loop.endRun() }
      ends.append(try loop.run())
      loop.stop()
      ends.append(try loop.run())
      return ends
    }
    #expect(ends == [.performed, .timedOut, .timedOut, .ended, .stopped])
    #expect(view.events.events == ["draw"])
  }

  @Test("NSTimer: fires repeatedly, is moved, ends")
  func timer() async throws {
    let view = View(draws: 3)
    let loop = try ThreadLoop(name: "ui")
    let timer = try loop.perform(repeating: .rate(.milliseconds(1))) { view.draw() }
    try await onThread { try #require(view.isDrawn.wait()) }
    #expect(timer.isActive)
    timer.reschedule(after: .seconds(60))
    #expect(timer.cancel())
    #expect(!timer.isActive)
    loop.stop()
  }

  @Test("CFRunLoopSource: signalled from any thread, handled on the loop, ended")
  func source() async throws {
    let view = View()
    let loop = try ThreadLoop(name: "ui")
    let source = try loop.addSource { view.handleKeys() }
    source.signal()
    await loop.settle()
    #expect(view.events.events == ["keys"])
    #expect(source.cancel())
    #expect(source.isCancelled)
    #expect(!source.signal())
    loop.stop()
  }

  @Test("CFFileDescriptor, NSPort: a descriptor that is watched")
  func descriptor() async throws {
    let pipe = try TestPipe()
    let input = Input(pipe)
    let descriptor = pipe.readEnd
    let loop = try ThreadLoop(name: "ui")
    let watch = try loop.watch(descriptor, for: .reading) { input.read() }
    pipe.send()
    try await onThread { try #require(input.isRead.wait()) }
    watch.suspend()
    watch.resume()
    #expect(watch.cancel())
    loop.stop()
    try await loop.join(until: .after(generous))
    pipe.closeBoth()
  }
}
