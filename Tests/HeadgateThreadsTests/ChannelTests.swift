import HeadgateThreads
import Testing

/// The ends of a channel, and the common features of all sources of elements.
@Suite(.timeLimit(.minutes(2))) struct ChannelTests {
  @Test("Releasing the last sender closes the channel; its elements can still be taken", arguments: [0, 1, 100])
  func senders(capacity: Int) throws {
    let receiver: Receiver<Int>
    var sender: Sender<Int>?
    (sender, receiver) = try BlockingQueue<Int>.channel(capacity: capacity)
    let sum = try Blocked { (try? receiver.elements.reduce(0, +)) ?? 0 }
    for number in 0..<3 {
      _ = try WorkerThread(name: "test-putter") { [sender] in
        for round in 0..<100 {
          let put = ending(of: { () throws(WaitError) in try sender?.put(round * 3 + number, until: .after(generous)) })
          if put != .done { Issue.record("\(put)") }
        }
      }
    }
    sender = nil
    // It ends with the last of the three.
    #expect(try sum.result() == 299 * 150)
    #expect(receiver.isClosed)
  }

  @Test("A task that owns the only sender closes the channel with its end")
  func onlySender() throws {
    let pool = try ThreadPool(name: "test-pool", size: 1)
    func numbers() throws -> Receiver<Int> {
      let (sender, receiver) = try BlockingQueue<Int>.channel(capacity: 10)
      try pool.execute { for number in 0..<100 { try sender.put(number) } }
      return receiver
    }
    let receiver = try numbers()
    let sum = try Blocked { (try? receiver.elements.reduce(0, +)) ?? 0 }
    #expect(try sum.result() == 99 * 50)
    try pool.finish()
  }

  @Test("Releasing the last receiver closes the channel: puts fail, and its elements are released")
  func receivers() throws {
    let census = Census()
    var receiver: Receiver<Parcel>?
    let sender: Sender<Parcel>
    (sender, receiver) = try BlockingQueue<Parcel>.channel(capacity: 2)
    for number in 0..<2 { expectAccepted(sender.tryPut(Parcel(number, census))) }
    let putting = try Blocked { () -> Ending in
      switch sender.put(Parcel(2, census)) {
      case .accepted: .done
      case .refused(let parcel, let error): parcel.number == 2 ? .error(error.code) : .done
      }
    }
    #expect(receiver?.count == 2)
    receiver = nil
    // Whether it was already waiting or not.
    #expect(try putting.result() == .error(.closed))
    #expect(sender.isClosed)
    #expect(until { census.alive == 0 })
  }

  @Test("Either end may close it, and both ends select")
  func closes() async throws {
    let (sender, receiver) = BlockingQueue<Int>.channel()
    #expect(try await select(sender.onPut(1) { 0 }) == 0)
    #expect(try await select(receiver.onTake { $0 }) == 1)
    try await sender.put(2)
    #expect(try sender.tryPut(3))
    receiver.close()
    #expect(sender.isClosed)
    #expect(await ending(of: { () async throws in try await sender.put(4) }) == .error(.closed))
    #expect(await receiver.values.reduce(into: [Int]()) { $0.append($1) } == [2, 3])
    let other = BlockingQueue<Int>.channel(name: "other")
    other.sender.close()
    #expect(other.receiver.isClosed)
    #expect(receiver.drain() == [])
    #expect(throws: WaitError.self) { _ = try other.receiver.tryTake() }
  }

  @Test("A blocking loop in a task is an error at once, and not an early end")
  func cooperativeLoop() throws {
    let queue = BlockingQueue<Int>()
    try queue.put(1)
    // A test runs in a task.
    let error = #expect(throws: WaitError.self) { for _ in try queue.elements { Issue.record("a turn") } }
    #expect(error?.code == .onCooperativeThread)
    #expect(queue.count == 1)
  }

  @Test("Ordered queues have the features of blocking queues: drains, batches, loops for threads and tasks")
  func ordered() async throws {
    let urgent = PriorityBlockingQueue<Int, Int>()
    #expect(urgent.isEmpty)
    for number in 0..<6 { try await urgent.put(number, priority: number) }
    #expect(!urgent.isEmpty)
    #expect(urgent.drain(max: 2) == [5, 4])
    var rest: [Int] = []
    #expect(urgent.drain(max: 1) { rest.append($0) } == 1)
    #expect(rest == [3])
    #expect(try await urgent.take(upTo: 2) == [2, 1])
    urgent.close()
    #expect(await urgent.values.reduce(into: [Int]()) { $0.append($1) } == [0])
    let clock = StandingClock()
    let later = DelayQueue<Int>(timers: clock)
    for number in 0..<4 { try await later.put(number, due: clock.now + .seconds(number)) }
    clock.advance(by: .seconds(1))
    #expect(!later.isEmpty)
    #expect(later.drain() == [0, 1])
    clock.advance(by: .seconds(2))
    later.close()
    let taken = try Blocked { (try? Array(later.elements)) ?? [] }
    #expect(try taken.result() == [2, 3])
  }
}
