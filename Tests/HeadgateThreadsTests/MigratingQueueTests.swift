import HeadgateThreads
import Testing

/// The code of docs/migrating.md for LinkedBlockingQueue.
@Suite struct MigratingQueueTests {
  private struct Image: Hashable, Sendable {
    var name: String
  }

  private let first = Image(name: "first")
  private let second = Image(name: "second")
  private let third = Image(name: "third")

  @Test("LinkedBlockingQueue: put, offer, take, poll, with and without a time limit")
  func waits() async throws {
    let (first, second, third) = (first, second, third)
    let taken = try await onThread {
      let queue = try BlockingQueue<Image>(name: "images", capacity: 2)
      try queue.put(first)
      try queue.put(second, until: .after(.seconds(60)))
      var taken: [Image?] = []
      if try queue.tryPut(third) { taken.append(third) }
      do throws(WaitError) {
        try queue.put(third, until: .distantPast)
      } catch {
        if error.code != .timedOut { throw error }
      }
      taken.append(try queue.take())
      taken.append(try queue.take(until: .after(.seconds(60))))
      taken.append(try queue.tryTake())
      return taken
    }
    #expect(taken == [first, second, nil])
  }

  @Test("LinkedBlockingQueue: exceptions are errors")
  func exceptions() async throws {
    let first = first
    try await onThread {
      let queue = try BlockingQueue<Image>(name: "images", capacity: 1)
      try queue.put(first)
      let full = #expect(throws: WaitError.self) { try queue.put(first, until: .distantPast) }
      #expect(full?.code == .timedOut)
      let image = try queue.take(until: .distantPast)
      #expect(image == first)
      let empty = #expect(throws: WaitError.self) { try queue.take(until: .distantPast) }
      #expect(empty?.code == .timedOut)

      let consumer = try ManagedThread.spawn { () throws(WaitError) in try queue.take() }
      consumer.cancel()
      let interrupted = #expect(throws: JoinError<WaitError>.self) { try consumer.join() }
      #expect(interrupted?.failure?.code == .cancelled)
    }
    let refused = #expect(throws: QueueError.self) { try BlockingQueue<Image>(capacity: -1) }
    #expect(refused?.code == .invalidCapacity)
  }

  @Test("LinkedBlockingQueue: counts, draining, loops")
  func whole() async throws {
    let queue = BlockingQueue<Image>(name: "images")
    try await queue.put(contentsOf: [first, second, third])
    #expect(queue.name == "images")
    #expect(queue.count == 3)
    #expect(!queue.isEmpty)
    #expect(queue.remainingCapacity == .max)
    #expect(queue.drain(max: 2) == [first, second])
    let rest = queue.drain()
    #expect(rest == [third])
    let (first, second) = (first, second)
    try await onThread {
      try queue.put(contentsOf: [first, second])
      let count = try queue.tryPut(contentsOf: [first, second])
      #expect(count == 2)
    }
    _ = queue.drain()
    #expect(queue.isEmpty)

    for image in [first, second] { try await queue.put(image) }
    queue.close()
    let seen = try await onThread {
      let seen = Record<Image>()
      for image in try queue.elements { seen.add(image) }
      return seen.events
    }
    #expect(seen == [first, second])
    for await image in queue.values { Issue.record("\(image) came out of an empty queue") }
    let closed = await #expect(throws: WaitError.self) { try await queue.take() }
    #expect(closed?.code == .closed)
  }

  @Test("SynchronousQueue, PriorityBlockingQueue and DelayQueue have their own type or capacity")
  func relatives() async throws {
    let image = try await onThread {
      let handover = try BlockingQueue<Image>(name: "handover", capacity: 0)
      let giver = try ManagedThread.spawn { () throws(WaitError) in try handover.put(Image(name: "handed")) }
      let image = try handover.take()
      try giver.join()
      return image
    }
    #expect(image.name == "handed")

    let urgent = PriorityBlockingQueue<Image, Int>(name: "urgent")
    try await urgent.put(first, priority: 1)
    try await urgent.put(second, priority: 2)
    let order = [try await urgent.take(), try await urgent.take()]
    #expect(order == [second, first])

    let later = DelayQueue<Image>(name: "later")
    try await later.put(first, due: .after(.milliseconds(2)))
    let due = try await later.take()
    #expect(due == first)
  }
}
