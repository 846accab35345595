import HeadgateFlow
import HeadgateTesting
import HeadgateThreads
import Testing

#if canImport(Dispatch)
import Dispatch

/// The code of docs/migrating.md for DispatchGroup and DispatchSemaphore.
@Suite struct MigratingFlowTests {
  private struct NoSuchPage: Error {}

  /// A library with callbacks, and with async functions.
  private struct Site: Sendable {
    private let queue = DispatchQueue(label: "site", attributes: .concurrent)

    func load(_ name: String, _ done: @escaping @Sendable (String?, (any Error)?) -> Void) {
      queue.async { name == "nothing" ? done(nil, NoSuchPage()) : done("\(name) page", nil) }
    }

    func page(_ name: String) async throws -> String { "\(name) page" }
  }

  /// A call with a callback as a function.
  @Sendable private static func load(_ name: String) async throws -> String {
    try await awaitCallback { completion in Site().load(name) { page, error in completion(page, error) } }
  }

  @Sendable private static func count(_ name: String) async throws -> Int {
    try await load(name).utf8.count
  }

  @Test("DispatchSemaphore: waiting for a callback, for a task, for the first of several")
  func semaphores() async throws {
    let (site, load) = (Site(), Self.load)
    let pages = try await onThread {
      let limit = Deadline.after(.seconds(60))
      var pages: [String] = []
      do {
        let page = try waitForCallback(until: limit) { completion in site.load("first") { completion($0, $1) } }
        pages.append(page)
      }
      do {
        let page = try waitForTask(until: limit) { try await site.page("first") }
        pages.append(page)
      }
      do {
        let page = try waitForTask(until: limit) { try await firstToSucceed(["nothing", "second"], load) }
        pages.append(page)
      }
      do {
        let page = try waitForTask(until: limit) { try await firstToSucceed({ try await load("nothing") }, { "none" }) }
        pages.append(page)
      }
      do {
        let names = ["first", "second"]
        let page = try waitForTask(until: limit) {
          try await firstMatching(names, where: { $0.hasPrefix("second") }, load)
        }
        pages.append(page)
      }
      return pages
    }
    #expect(pages == ["first page", "first page", "second page", "none", "second page"])
  }

  @Test("DispatchGroup: all of several, with a limit, with a block for the end")
  func groups() async throws {
    let (load, names) = (Self.load, ["first", "second", "third"])
    let counts = try await onThread {
      let limit = Deadline.after(.seconds(60))
      var counts: [Int] = []
      do {
        let pages = try waitForTask(until: limit) { try await allSucceed(names, load) }
        counts.append(pages.count)
      }
      do {
        let ends = try waitForTask(until: limit) { try await allSettled(["first", "nothing"], load) }
        counts.append(ends.count { (try? $0.get()) != nil })
      }
      do {
        let pages = try waitForTask(until: limit) { try await allSucceed(names, atMost: 2, load) }
        counts.append(pages.count)
      }
      return counts
    }
    #expect(counts == [3, 1, 3])

    let queue = DispatchQueue(label: "ends")
    let heard = Locked<[String]>([])
    let isOver = Gate()
    let started =
      startTask(on: .queue(queue), { try await allSucceed(names, load) }) { result in
        heard.withLock { $0 = (try? result.get()) ?? [] }
        isOver.open()
      }
    try await isOver.wait()
    started.cancel()
    #expect(heard.withLock { $0 } == ["first page", "second page", "third page"])
  }

  @Test("Results of different types, results as they complete, retries, hedges, pieces of a file")
  func recipes() async throws {
    let (load, count) = (Self.load, Self.count)
    let names = ["first", "second", "third"]
    // Any file will do: this one.
    let path = #filePath
    let heard = try await onThread {
      let limit = Deadline.after(.seconds(60))
      var heard: [String] = []
      do {
        let (page, size) = try waitForTask(until: limit) {
          try await allSucceed({ @Sendable in try await load("first") }, { @Sendable in try await count("second") })
        }
        heard.append("\(page) \(size)")
      }
      let pages = Record<String>()
      try waitForTask(until: limit) {
        for try await page in names.mapConcurrently(limit: 2, yielding: .asCompleted, load) { pages.add(page) }
      }
      heard += pages.events.sorted()
      do {
        let page = try waitForTask(until: limit) { try await retry(attempts: 3) { try await load("first") } }
        heard.append(page)
      }
      do {
        let page = try waitForTask(until: limit) { try await hedged(after: .seconds(1)) { try await load("first") } }
        heard.append(page)
      }
      do {
        let sent = Locked(0)
        let total = try waitForTask(until: limit) {
          try await sendChunks(ofFile: path, size: 100_000) { chunk in
            try await awaitCallback { completion in
              sent.withLock { $0 += chunk.bytes.count }
              completion.succeed()
            }
          }
        }
        heard.append("\(total == sent.withLock { $0 })")
      }
      return heard
    }
    #expect(
      heard == [
        "first page 11", "first page", "second page", "third page", "first page", "first page", "true",
      ])
    let shown = Record<String>()
    startTask(on: .mainActor, { try await step("load") { try await load("first") } }) { result in
      MainActor.assumeIsolated {}
      shown.add((try? result.get()) ?? "")
    }
    await shown.wait(for: 1)
    #expect(shown.events == ["first page"])
  }

  @Test("dispatch_apply and dispatch_after: many at a time, and a time limit")
  func others() async throws {
    let (site, names, limit) = (Site(), ["first", "second", "third"], Deadline.after(.seconds(60)))
    let pages = try await names.mapConcurrently(limit: 4) { name in try await site.page(name) }
    #expect(pages.count == 3)
    let page = try await withDeadline(limit) { try await site.page("first") }
    #expect(page == "first page")
  }
}
#endif
