import HeadgateTesting
import HeadgateThreads
import Synchronization
import Testing

actor Device {
  private let loop: ThreadLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }

  init() throws { loop = try ThreadLoop(name: "device", stackSize: 16 << 20) }

  func read() -> Int { driverRead() }
  deinit { loop.stop() }
}

private func driverRead() -> Int { ManagedThread.current.name == "device" ? 42 : 0 }

/// The code of the articles on blocking work, threads and queues.
@Suite struct ThreadArticleTests {
  private final class Notes: Sendable {
    private let all = Mutex<[String]>([])
    var texts: [String] { all.withLock { $0 } }
    func add(_ text: String) { all.withLock { $0.append(text) } }
  }

  @Test("blocking work")
  func blocking() async throws {
    let (path, image, images) = ("a", "image", ["1", "2"])
    @Sendable func readFile(_ path: String) throws -> String { "text of \(path)" }
    @Sendable func decode(_ image: String) -> String { "decoded \(image)" }
    @Sendable func loadAll() async throws -> [String] { [decode("1"), decode("2")] }
    let text = try await ThreadPool.blocking { try readFile(path) }
    #expect(text == "text of a")
    let pool = try ThreadPool(name: "decoders", size: 4, queueBound: 100)
    let picture = try await pool.run { decode(image) }
    let pictures = try await pool.map(images) { decode($0) }
    let album = try await withTaskExecutorPreference(pool.taskExecutor) {
      try await loadAll()
    }
    #expect(picture == "decoded image" && pictures == album)
    #expect(try await pooled(image, decode) == picture)
    pool.dispose()
  }

  private func pooled(_ image: String, _ decode: @escaping @Sendable (String) -> String) async throws -> String {
    let thread = try ManagedThread.spawn(name: "caller") {
      let pool = try ThreadPool(name: "decoders", size: 4, queueBound: 100)
      let task = try pool.submit { decode(image) }
      let later = try task.wait()
      pool.dispose()
      return later
    }
    return try await thread.value()
  }

  @Test("an actor on a thread of its own")
  func device() async throws {
    let device = try Device()
    let value = await device.read()
    #expect(value == 42)
  }

  @Test("threads, queues and their ends")
  func threads() async throws {
    let (files, notes) = (["a", "b"], Notes())
    @Sendable func index(_ files: [String]) throws -> Int { files.count }
    let thread = try ManagedThread.spawn(name: "index") { try index(files) }
    let count = try await thread.value()
    #expect(count == 2)

    func show(_ page: Int) { notes.add("\(page)") }
    let queue = try BlockingQueue<Int>(name: "pages", capacity: 10)
    let reader = try ManagedThread.spawn(name: "reader") {
      for page in 1...50 { try queue.put(page) }
      queue.close()
    }
    for await page in queue.values { show(page) }
    try await reader.value()
    #expect(notes.texts == (1...50).map(String.init))
  }

  @Test("select")
  func selection() async throws {
    let (jobs, stops) = (BlockingQueue<Int>(), BlockingQueue<Void>())
    try await jobs.put(7)
    enum Event { case job(Int), stop }

    let event: Event = try await select(jobs.onTake { .job($0) }, stops.onTake { _ in .stop })
    guard case .job(7) = event else { throw WaitError(.closed, operation: "the job was not taken") }
  }

  @Test("cancelling, loops and timers")
  func ends() async throws {
    let (jobs, notes) = (BlockingQueue<Int>(), Notes())
    @Sendable func handle(_ job: Int) { notes.add("\(job)") }
    let worker = try ManagedThread.spawn(name: "worker") {
      while true {
        try ManagedThread.checkCancellation()
        handle(try jobs.take())
      }
    }
    worker.cancel()
    await #expect(throws: (any Error).self) { try await worker.value() }

    @discardableResult @Sendable func record(_ text: String) -> Int {
      notes.add(text)
      return notes.texts.count
    }
    let loop = try ThreadLoop(name: "device")
    loop.perform { record("first") }
    let length = try await loop.performAndWait { record("second") }
    loop.stop()
    #expect(length == 2 && notes.texts == ["first", "second"])

    let gate = Gate()
    @Sendable func tick() { gate.open() }
    func ticked() async { await gate.waitRegardless() }
    let beat = try TimerThread.shared.perform(repeating: .rate(.milliseconds(5))) { tick() }
    await ticked()
    beat.cancel()
    #expect(ThreadDump.text().contains("thread"))
  }
}
