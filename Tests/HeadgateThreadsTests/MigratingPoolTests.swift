import HeadgateThreads
import Testing

/// The code of docs/migrating.md for LSThreadPool and LSInvocation.
@Suite struct MigratingPoolTests {
  private final class Gallery: Sendable {
    let loaded = Record<String>()
    let threads = Record<String>()
    let reloaded = Latch()

    func reload() {
      loaded.add("all")
      threads.add(ManagedThread.current.name)
      reloaded.countDown()
    }

    func load(_ name: String) { loaded.add(name) }

    func size(of name: String) throws(TestFailure) -> Int {
      guard !name.isEmpty else { throw TestFailure(number: 1) }
      return name.utf8.count
    }
  }

  @Test("LSThreadPool: created, given work, queried, disposed of")
  func pool() async throws {
    let gallery = Gallery()
    let pool = try ThreadPool(name: "images", size: 4)
    try pool.execute { gallery.reload() }
    try pool.execute { gallery.load("first.png") }
    let task = try pool.submit { () throws(TestFailure) in try gallery.size(of: "first.png") }
    #expect(try await task.value == 9)
    #expect(pool.name == "images")
    #expect(pool.size == 4)
    try pool.setSize(8)
    #expect(pool.size == 8)
    #expect(pool.statistics.queued >= 0)
    pool.dispose()
    try await pool.waitUntilDisposed(until: .after(.seconds(60)))
    #expect(pool.statistics.queued == 0)
    #expect(pool.statistics.completed == 3)
    #expect(gallery.loaded.events.sorted() == ["all", "first.png"])
    #expect(pool.isDisposed)
    let late = #expect(throws: ThreadPoolError.self) { try pool.execute { gallery.reload() } }
    #expect(late?.code == .disposed)
  }

  @Test("LSThreadPool: tasks that have not started when the pool is disposed of at once never run")
  func disposedNow() async throws {
    let pool = try ThreadPool(name: "images", size: 1)
    let (inside, release) = (Latch(), Latch())
    try pool.execute {
      inside.countDown()
      _ = release.wait()
    }
    try await onThread { try #require(inside.wait()) }
    let task = try pool.submit { 1 }
    pool.dispose(.now)
    release.countDown()
    let dropped = await #expect(throws: PoolTaskError<Never>.self) { try await task.value }
    #expect(dropped?.code == .disposed)
    try await pool.waitUntilDisposed(until: .after(.seconds(60)))
  }

  @Test("LSInvocation: the handle waits, reports the state of the task, and withdraws it")
  func invocation() async throws {
    let gallery = Gallery()
    let pool = try ThreadPool(name: "images", size: 1)
    let size = try await onThread {
      let task = try pool.submit { () throws(TestFailure) in try gallery.size(of: "first.png") }
      try task.wait()
      let size = try task.wait(until: .after(.seconds(60)))
      guard task.hasEnded, task.state == .succeeded else { throw TestFailure(number: 2) }
      return size
    }
    #expect(size == 9)

    let failing = try pool.submit { () throws(TestFailure) in try gallery.size(of: "") }
    let failed = await #expect(throws: PoolTaskError<TestFailure>.self) { try await failing.value }
    #expect(failed?.failure == TestFailure(number: 1))
    #expect(failing.error == TestFailure(number: 1))

    let (inside, release) = (Latch(), Latch())
    try pool.execute {
      inside.countDown()
      _ = release.wait()
    }
    try await onThread { try #require(inside.wait()) }
    let task = try pool.submit { gallery.load("second.png") }
    #expect(task.cancel())
    #expect(task.state == .dropped)
    release.countDown()
    pool.dispose()
    try await pool.waitUntilDisposed(until: .after(.seconds(60)))
    #expect(gallery.loaded.events.isEmpty)
  }

  @Test("LSInvocation with a delay: a timer that passes its call to the pool")
  func delayed() async throws {
    let gallery = Gallery()
    let pool = try ThreadPool(name: "images", size: 1, idleTime: .seconds(1))
    try TimerThread.shared.perform(after: .milliseconds(2), on: .pool(pool)) { gallery.reload() }
    try await onThread { try #require(gallery.reloaded.wait()) }
    pool.dispose()
    try await pool.waitUntilDisposed(until: .after(.seconds(60)))
    #expect(gallery.threads.events.count == 1)
    #expect(gallery.threads.events.first?.contains("images") == true)
  }
}
