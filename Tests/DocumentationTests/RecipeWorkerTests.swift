import Headgate
import HeadgateTesting
import Testing

/// Shrinks pictures on four threads. Fifty more may wait for a thread; what exceeds that is refused.
struct Thumbnails: Sendable {
  struct Answer: Equatable, Sendable {
    var status: Int
    var body: [UInt8] = []
  }

  let pool: ThreadPool
  let shrink: @Sendable ([UInt8]) throws -> [UInt8]

  init(_ shrink: @escaping @Sendable ([UInt8]) throws -> [UInt8]) throws {
    pool = try ThreadPool(name: "thumbnails", size: 4, queueBound: 50)
    self.shrink = shrink
  }

  /// The answer to one request. If the task is cancelled, because the client has left, a call that waits is never made.
  func answer(_ picture: [UInt8]) async throws -> Answer {
    do {
      let small = try await pool.run(until: .distantPast) { [shrink] in try shrink(picture) }
      return Answer(status: 200, body: small)
    } catch let error as ThreadPoolError where error.code == .timedOut {
      return Answer(status: 503)
    }
  }
}

/// The recipe for a bounded worker in a server.
@Suite struct RecipeWorkerTests {
  @Test("four run, fifty wait, one too many is refused, and a client that leaves drops its call")
  func bounds() async throws {
    let (door, calls) = (Latch(count: 1), Semaphore(permits: 0))
    let thumbnails = try Thumbnails { picture in
      calls.signal()
      try door.wait()
      return Array(picture.prefix(1))
    }
    let running = (0..<4).map { number in Task { try await thumbnails.answer([UInt8(number), 9]) } }
    for _ in 0..<4 { try await calls.wait() }
    // Each takes its place in the queue before its task first suspends.
    let loop = try ThreadLoop(name: "clients")
    let waiting = (4..<54).map { number in
      Task(executorPreference: loop.taskExecutor) { try await thumbnails.answer([UInt8(number), 9]) }
    }
    try await loop.performAndWait {}
    #expect(thumbnails.pool.statistics.queued == 50)
    #expect(try await thumbnails.answer([54]) == Thumbnails.Answer(status: 503))
    waiting[0].cancel()
    await #expect(throws: CancellationError.self) { try await waiting[0].value }
    door.countDown()
    for (number, task) in (running + waiting.dropFirst()).enumerated() {
      let sent = number < 4 ? number : number + 1
      #expect(try await task.value == Thumbnails.Answer(status: 200, body: [UInt8(sent)]))
    }
    thumbnails.pool.dispose()
    loop.stop()
  }
}
