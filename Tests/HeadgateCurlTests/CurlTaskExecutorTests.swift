import HeadgateCurl
import HeadgateDispatch
import HeadgateOrigin
import HeadgateTesting
import HeadgateThreads
import Testing

/// Tasks on the transport's own threads.
@Suite struct CurlTaskExecutorTests {
  private let origin: Origin

  /// So many that each of two loops has some of them: the loop is chosen by the end-point's hash, which differs from
  /// run to run.
  private static let places = 64

  init() throws { origin = try Origin(endPoints: Self.places) }

  private func dispatcher(requests: Int = 4, loops: Int = 1) throws -> URLDispatcher {
    let limits = try GateLimits(endPoint: EndPointLimits(requests: requests))
    return URLDispatcher(transport: try CurlTransport(loops: loops), limits: limits)
  }

  /// The thread of the responses.
  private func transportThread(_ dispatcher: URLDispatcher, endPoint: Int = 0) async throws -> ThreadHandle {
    let thread = LockedBox<ThreadHandle?>(nil)
    let isDone = Gate()
    dispatcher.dispatch(try DispatchRequest(origin.url("/bytes/1", endPoint: endPoint))) { _ in
      thread.withLock { $0 = .here }
      isDone.open()
    }
    try await isDone.wait()
    return try #require(thread.withLock { $0 })
  }

  @Test("a task runs on the transport's thread from start to end, through all of its waits")
  func thread() async throws {
    let dispatcher = try dispatcher()
    let thread = try await transportThread(dispatcher)
    let url = origin.url("/bytes/100")
    let threads = await Task(executorPreference: dispatcher.taskExecutor) {
      var threads = [ThreadHandle.here]
      await Task.yield()
      threads.append(.here)
      #expect((try? await dispatcher.data(for: url).statusCode) == 200)
      threads.append(.here)
      async let child = ThreadHandle.here
      threads.append(await child)
      if let body = try? await dispatcher.stream(for: DispatchRequest(url)).body {
        #expect((try? await body.collect(upTo: 1000).count) == 100)
      }
      threads.append(.here)
      return threads
    }.value
    #expect(threads == Array(repeating: thread, count: 5))
    await dispatcher.shutDown()
  }

  @Test("a thousand requests of a group keep to the limit, and every task resumes on the thread of its response")
  func group() async throws {
    let dispatcher = try dispatcher()
    let thread = try await transportThread(dispatcher)
    let url = origin.url("/bytes/100")
    let good = await withTaskExecutorPreference(dispatcher.taskExecutor) {
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<1000 {
          group.addTask { (try? await dispatcher.data(for: url).statusCode) == 200 && ThreadHandle.here == thread }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
    }
    #expect(good == 1000)
    #expect(origin.counts().peakSockets <= 4)
    await dispatcher.shutDown()
  }

  @Test("jobs that enqueue jobs endlessly do not delay exchanges")
  func yieldsForEver() async throws {
    let dispatcher = try dispatcher()
    let isOver = Gate()
    let restless = (0..<3).map { _ in
      Task(executorPreference: dispatcher.taskExecutor) {
        var turns = 0
        while !isOver.isOpen {
          await Task.yield()
          turns += 1
        }
        return turns
      }
    }
    for _ in 0..<20 { #expect(try await dispatcher.data(for: origin.url("/bytes/100")).statusCode == 200) }
    isOver.open()
    for task in restless { #expect(await task.value > 0) }
    await dispatcher.shutDown()
  }

  @Test("a transport ends under endless jobs; they and later ones run elsewhere")
  func shutDown() async throws {
    let dispatcher = try dispatcher()
    let executor = try #require(dispatcher.taskExecutor)
    let thread = try await transportThread(dispatcher)
    let (isOver, isLeft, runs) = (Gate(), Gate(), Gate())
    let restless = Task(executorPreference: executor) {
      runs.open()
      while !isOver.isOpen {
        if ThreadHandle.here != thread { isLeft.open() }
        await Task.yield()
      }
    }
    // Waits for its end on the thread that ends.
    let asleep = Task(executorPreference: executor) {
      await dispatcher.shutDown()
      return ThreadHandle.here != thread
    }
    try await runs.wait()
    #expect(await asleep.value)
    try await isLeft.wait()
    isOver.open()
    await restless.value
    let isElsewhere = await Task(executorPreference: executor) { ThreadHandle.here != thread }.value
    #expect(isElsewhere)
    await #expect(throws: DispatchError.self) {
      try await withTaskExecutorPreference(executor) { _ = try await dispatcher.data(for: origin.url("/")) }
    }
  }

  @Test("with several loops a task resumes on the loop of its response, and begins on the first of them")
  func loops() async throws {
    let dispatcher = try dispatcher(loops: 2)
    var threads: [ThreadHandle] = []
    for place in 0..<Self.places { threads.append(try await transportThread(dispatcher, endPoint: place)) }
    let first = await Task(executorPreference: dispatcher.taskExecutor) { ThreadHandle.here }.value
    let moves = await withTaskExecutorPreference(dispatcher.taskExecutor) {
      await withTaskGroup(of: Bool?.self) { group in
        for number in 0..<400 {
          let place = number % Self.places
          let (url, thread) = (origin.url("/bytes/100", endPoint: place), threads[place])
          group.addTask { [threads] in
            let before = ThreadHandle.here
            guard threads.contains(before) || before == first else { return nil }
            guard (try? await dispatcher.data(for: url).statusCode) == 200 else { return nil }
            // A task whose response is available before it suspends stays on its thread.
            let after = ThreadHandle.here
            return after == thread || after == before ? after != before : nil
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(moves.count == 400 && moves.allSatisfy { $0 != nil } && moves.contains(true))
    await dispatcher.shutDown()
  }

  @Test("a request ends with its cancelled task: while it runs, while it waits, before it begins")
  func cancel() async throws {
    let dispatcher = try dispatcher(requests: 1)
    var request = try DispatchRequest(origin.url("/hold"))
    request.timeout = nil
    let codes = await withTaskExecutorPreference(dispatcher.taskExecutor) { [request] in
      await withTaskGroup(of: DispatchError.Code?.self) { group in
        for _ in 0..<3 { group.addTask { await Self.code(dispatcher, request) } }
        // The three are enqueued before this.
        await Task.yield()
        group.cancelAll()
        group.addTask { await Self.code(dispatcher, request) }
        return await group.reduce(into: []) { $0.append($1) }
      }
    }
    #expect(codes == Array(repeating: .cancelled, count: 4))
    #expect(try await dispatcher.data(for: origin.url("/bytes/1")).statusCode == 200)
    await dispatcher.shutDown()
  }

  private static func code(_ dispatcher: URLDispatcher, _ request: DispatchRequest) async -> DispatchError.Code? {
    do throws(DispatchError) {
      _ = try await dispatcher.data(for: request)
      return nil
    } catch {
      return error.code
    }
  }

  private actor Elsewhere {
    private let loop: ThreadLoop

    init(_ loop: ThreadLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }

    var isAtHome: Bool { loop.isCurrent }

    func status(_ dispatcher: URLDispatcher, _ url: String) async -> Bool {
      let status = try? await dispatcher.data(for: url).statusCode
      return status == 200 && loop.isCurrent
    }
  }

  @Test("a hop to an actor with its own executor leads there and back")
  func actor() async throws {
    let dispatcher = try dispatcher()
    let thread = try await transportThread(dispatcher)
    let loop = try ThreadLoop(name: "test-loop")
    let actor = Elsewhere(loop)
    let url = origin.url("/bytes/1")
    let isGood = await withTaskExecutorPreference(dispatcher.taskExecutor) {
      for _ in 0..<100 {
        guard await actor.isAtHome, ThreadHandle.here == thread else { return false }
        guard await actor.status(dispatcher, url), ThreadHandle.here == thread else { return false }
      }
      return true
    }
    #expect(isGood)
    loop.stop()
    await dispatcher.shutDown()
  }

  @Test("preferences nest: the inner one applies inside, the outer one after it")
  func nested() async throws {
    let (outer, inner) = (try dispatcher(), try dispatcher())
    let (outerThread, innerThread) = (try await transportThread(outer), try await transportThread(inner))
    let url = origin.url("/bytes/1")
    let threads = await withTaskExecutorPreference(outer.taskExecutor) {
      let inside = await withTaskExecutorPreference(inner.taskExecutor) {
        _ = try? await outer.data(for: url)
        return ThreadHandle.here
      }
      return [inside, ThreadHandle.here]
    }
    #expect(threads == [innerThread, outerThread])
    await outer.shutDown()
    await inner.shutDown()
  }

  @Test("blocking calls are refused there")
  func blocking() async throws {
    let dispatcher = try dispatcher()
    let request = try DispatchRequest(origin.url("/bytes/1"))
    let code = await Task(executorPreference: dispatcher.taskExecutor) {
      Self.blockingCode(dispatcher, request)
    }.value
    #expect(code == .wouldBlock)
    await dispatcher.shutDown()
  }

  private static func blockingCode(_ dispatcher: URLDispatcher, _ request: DispatchRequest) -> DispatchError.Code? {
    do throws(DispatchError) {
      _ = try dispatcher.dispatchSynchronously(request)
      return nil
    } catch {
      return error.code
    }
  }

  @Test("tasks from many threads, some cancelled, some that hop away and back: each ends once, and nothing is left")
  func stress() async throws {
    let dispatcher = try dispatcher(loops: 2)
    let urls = (0..<8).map { origin.url("/bytes/100", endPoint: $0) }
    let executor = dispatcher.taskExecutor
    let ends = await withTaskGroup(of: Int.self) { group in
      for starter in 0..<8 {
        group.addTask {
          var ends = 0
          for number in 0..<50 {
            let url = urls[(starter + number) % urls.count]
            let task = Task(executorPreference: executor) {
              let isGood = (try? await dispatcher.data(for: url).statusCode) == 200
              await withTaskExecutorPreference(globalConcurrentExecutor) { await Task.yield() }
              return isGood
            }
            if number % 5 == 0 { task.cancel() }
            if await task.value || number % 5 == 0 { ends += 1 }
          }
          return ends
        }
      }
      return await group.reduce(0, +)
    }
    #expect(ends == 400)
    // A cancelled request's caller is told first. By the next response on its thread its permit is back.
    for url in urls { #expect(try await dispatcher.data(for: url).statusCode == 200) }
    #expect(dispatcher.snapshot().endPoints.allSatisfy { $0.running == 0 })
    await dispatcher.shutDown()
  }
}

extension ThreadHandle {
  // A separate function, so that it is evaluated anew after each suspension.
  @inline(never) fileprivate static var here: ThreadHandle { ManagedThread.current }
}
