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

  @Test("DispatchSemaphore: waiting for a callback, for a task, for the first of several")
  func semaphores() async throws {
    let site = Site()
    func load(_ name: String) -> CallbackFunction<String, any Error> {
      { completion in
        site.load(name) { page, error in completion(page, error) }
      }
    }
    let loads = (load("first"), load("second"), load("nothing"))
    #expect(try await awaitCallback(load("first")) == "first page")
    let pages = try await onThread {
      let load: @Sendable (String) -> CallbackFunction<String, any Error> = { name in
        name == "first" ? loads.0 : name == "second" ? loads.1 : loads.2
      }
      let limit = Deadline.after(.seconds(60))
      var pages: [String] = []
      do {
        let page = try waitForCallback(until: limit, load("first"))
        pages.append(page)
      }
      do {
        let page = try waitForTask(until: limit) { try await site.page("first") }
        pages.append(page)
      }
      do {
        let page = try firstToSucceed(until: limit, [load("nothing"), load("second")])
        pages.append(page)
      }
      do {
        let page = try firstMatching([load("first"), load("second")], until: limit) { $0.hasPrefix("second") }
        pages.append(page)
      }
      return pages
    }
    #expect(pages == ["first page", "first page", "second page", "second page"])
  }

  @Test("DispatchGroup: all of several, with a limit, with a block for the end")
  func groups() async throws {
    let site = Site()
    let load: @Sendable (String) -> CallbackFunction<String, any Error> = { name in
      { completion in
        site.load(name) { page, error in completion(page, error) }
      }
    }
    let names = ["first", "second", "third"]
    let counts = try await onThread {
      let limit = Deadline.after(.seconds(60))
      var counts: [Int] = []
      do {
        let pages = try allSucceed(until: limit, [load("first"), load("second")])
        counts.append(pages.count)
      }
      do {
        let ends = try allSettled(until: limit, [load("first"), load("nothing")])
        counts.append(ends.count { (try? $0.get()) != nil })
      }
      do {
        let pages = try allSucceed(atMost: 2, until: limit, names.map { load($0) })
        counts.append(pages.count)
      }
      return counts
    }
    #expect(counts == [2, 1, 3])

    let queue = DispatchQueue(label: "ends")
    let heard = Locked<[String]>([])
    let isOver = Gate()
    let started =
      startCallback(on: .queue(queue), allSucceed([load("first"), load("second")])) { result in
        heard.withLock { $0 = (try? result.get()) ?? [] }
        isOver.open()
      }
    await isOver.wait()
    started.cancel()
    #expect(heard.withLock { $0 } == ["first page", "second page"])
  }

  @Test("Results of different types, results as they come, trying again, a second call, pieces of a file")
  func recipes() async throws {
    let site = Site()
    let load: @Sendable (String) -> CallbackFunction<String, any Error> = { name in
      { completion in
        site.load(name) { page, error in completion(page, error) }
      }
    }
    let count: @Sendable (String) -> CallbackFunction<Int, any Error> = { name in
      { completion in
        site.load(name) { page, error in completion(page?.utf8.count, error) }
      }
    }
    let names = ["first", "second", "third"]
    // Any file will do: this one.
    let path = #filePath
    let heard = try await onThread {
      let limit = Deadline.after(.seconds(60))
      var heard: [String] = []
      do {
        let (page, size) = try allSucceed(until: limit, load("first"), count("second"))
        heard.append("\(page) \(size)")
      }
      var pages: [String] = []
      try names.mapConcurrently(limit: 2, yielding: .asCompleted, until: limit) { name, completion in
        load(name)(completion)
      } taking: { page in
        pages.append(page)
      }
      heard += pages.sorted()
      do {
        let page = try retry(attempts: 3, until: limit, load("first"))
        heard.append(page)
      }
      do {
        let page = try hedged(after: .seconds(1), until: limit, load("first"))
        heard.append(page)
      }
      do {
        let sent = Locked(0)
        let total =
          try sendChunks(ofFile: path, size: 100_000, until: limit) {
            (chunk, completion: Completion<Void, any Error>) in
            sent.withLock { $0 += chunk.bytes.count }
            completion.succeed()
          }
        heard.append("\(total == sent.withLock { $0 })")
      }
      do {
        let page = callbackFunction { try await site.page("first") }
        heard.append(try waitForCallback(until: limit, page))
      }
      return heard
    }
    #expect(
      heard == [
        "first page 11", "first page", "second page", "third page", "first page", "first page", "true", "first page",
      ])
    let shown = Record<String>()
    startCallback(on: .mainActor, step("load", load("first"))) { result in
      MainActor.assumeIsolated {}
      shown.add((try? result.get()) ?? "")
    }
    await shown.wait(for: 1)
    #expect(shown.events == ["first page"])
  }

  @Test("dispatch_apply and dispatch_after: many at a time, and a limit on time")
  func others() async throws {
    let (site, names, limit) = (Site(), ["first", "second", "third"], Deadline.after(.seconds(60)))
    let pages = try await names.mapConcurrently(limit: 4) { name in try await site.page(name) }
    #expect(pages.count == 3)
    let page = try await withDeadline(limit) { try await site.page("first") }
    #expect(page == "first page")
  }
}
#endif
