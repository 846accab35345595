import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

#if canImport(Dispatch)
import Dispatch
#endif

/// Where answers are delivered.
@Suite struct DeliveryTests {
  private static func start(
    on target: Delivery, discard: (@Sendable (Int) -> Void)? = nil, _ result: Result<Int, Oops>,
    _ where: @escaping @Sendable () -> Bool = { true }
  ) -> Record<String> {
    let heard = Record<String>()
    startTask(on: target, discard: discard, { try result.get() }) { result in
      let place = `where`() ? "there" : "elsewhere"
      switch result {
      case .success(let value): heard.add("\(value) \(place)")
      case .failure(let error as Oops): heard.add("!\(error.number) \(place)")
      case .failure(let error): heard.add("\(EndCode(error)) \(place)")
      }
    }
    return heard
  }

  @Test("On a loop, the main actor, a pool, a queue, through a closure: successes and failures alike")
  func places() async throws {
    let loop = try ThreadLoop(name: "delivery")
    let pool = try ThreadPool(name: "delivery", size: 1)
    for (function, word) in [
      (Result<Int, Oops>.success(1), "1"), (.failure(Oops(number: 2)), "!2"),
    ] {
      let onLoop = Self.start(on: .loop(loop), function) { loop.isCurrent }
      await onLoop.wait(for: 1)
      #expect(onLoop.events == ["\(word) there"])
      let onPool = Self.start(on: .pool(pool), function) { pool.isCurrent }
      await onPool.wait(for: 1)
      #expect(onPool.events == ["\(word) there"])
      let onMain = Self.start(on: .mainActor, function) {
        MainActor.assumeIsolated {}
        return true
      }
      await onMain.wait(for: 1)
      #expect(onMain.events == ["\(word) there"])
      #if canImport(Dispatch)
      let queue = DispatchQueue(label: "delivery")
      let onQueue = Self.start(on: .queue(queue), function) {
        dispatchPrecondition(condition: .onQueue(queue))
        return true
      }
      await onQueue.wait(for: 1)
      #expect(onQueue.events == ["\(word) there"])
      #endif
      let submitted = Self.start(on: .submitting { call in loop.perform { call() } }, function) { loop.isCurrent }
      await submitted.wait(for: 1)
      #expect(submitted.events == ["\(word) there"])
      let inline = Self.start(on: .inline, function)
      await inline.wait(for: 1)
      #expect(inline.events == ["\(word) there"])
    }
    loop.stop()
    pool.dispose()
  }

  @Test("A failure reaches the main actor from the step where it happened, among several that run at once")
  func failureOfStep() async {
    let (heard, hand) = (Record<String>(), Hand<Int>())
    startTask(on: .mainActor) {
      try await allSucceed(
        { @Sendable in try await step("log in") { try await hand.awaited(0)() } },
        { @Sendable in try await step("upload") { try await hand.awaited(1)() } })
    } receive: { result in
      MainActor.assumeIsolated {}
      let error = flowError(result)
      heard.add("\((error?.failure as? StepError)?.step ?? "-") at \(error?.inputs ?? [])")
    }
    await hand.started.wait(for: 2)
    hand.fail(1)
    // The other one has not ended before, or it could be reported first.
    await heard.wait(for: 1)
    hand.drop(0)
    #expect(heard.events == ["upload at [1]"])
  }

  @Test("A target that accepts nothing any more: reported once, as undeliverable, and a success is discarded")
  func gone() async throws {
    let loop = try ThreadLoop(name: "delivery")
    loop.stop()
    let pool = try ThreadPool(name: "delivery", size: 1)
    pool.dispose()
    let targets: [Delivery] = [
      .loop(loop), .pool(pool), .submitting { _ in throw Oops(number: 8) }, .submitting { _ in },
      .submitting { call in
        call()
        call()
      },
    ]
    let discarded = Record<Int>()
    var heard: [[String]] = []
    for (index, target) in targets.enumerated() {
      let record = Self.start(on: target, discard: { discarded.add($0) }, .success(index))
      await record.wait(for: 1)
      heard.append(record.events)
    }
    #expect(heard == Array(repeating: ["undeliverable there"], count: 4) + [["4 there"]])
    #expect(discarded.events == [0, 1, 2, 3])
  }

  @Test("A loop that stops with the answer in its inbox, a pool that drops it: reported, not lost")
  func dropped() async throws {
    let loop = try ThreadLoop(name: "delivery")
    let pool = try ThreadPool(name: "delivery", size: 1)
    let (inLoop, inPool, release) = (Gate(), Gate(), Gate())
    loop.perform {
      inLoop.open()
      _ = release.wait(until: generous)
    }
    try pool.execute {
      inPool.open()
      _ = release.wait(until: generous)
    }
    try await inLoop.wait()
    try await inPool.wait()
    let (isInLoop, isInPool) = (Gate(), Gate())
    let toLoop: @Sendable (@escaping @Sendable () -> Void) throws -> Void = { call in
      loop.perform { call() }
      isInLoop.open()
    }
    let toPool: @Sendable (@escaping @Sendable () -> Void) throws -> Void = { call in
      try pool.execute { call() }
      isInPool.open()
    }
    let onLoop = Self.start(on: .submitting(toLoop), .success(1))
    let onPool = Self.start(on: .submitting(toPool), .success(2))
    try await isInLoop.wait()
    try await isInPool.wait()
    #expect(onLoop.events.isEmpty && onPool.events.isEmpty)
    loop.stop()
    pool.dispose(.now)
    release.open()
    await onLoop.wait(for: 1)
    await onPool.wait(for: 1)
    #expect(onLoop.events == ["undeliverable there"])
    #expect(onPool.events == ["undeliverable there"])
  }

  @Test("A full pool refuses at once instead of blocking the answering thread")
  func fullPool() async throws {
    let pool = try ThreadPool(name: "full", size: 1, queueBound: 0)
    let (inside, release) = (Gate(), Gate())
    try pool.execute {
      inside.open()
      _ = release.wait(until: generous)
    }
    try await inside.wait()
    let heard = Self.start(on: .pool(pool), .success(1))
    await heard.wait(for: 1)
    #expect(heard.events == ["undeliverable there"])
    release.open()
    pool.dispose()
  }

  @Test(
    "P97 delivery on the main actor is refused to a wait of the main thread; duties are those of the given thread"
  )
  func duties() async throws {
    let main = await MainActor.run { ThreadDuties.current }
    #expect(Delivery.mainActor.needs(main) && !Delivery.inline.needs(main))
    let elsewhere = try await onThread { ThreadDuties.current }
    #expect(!Delivery.mainActor.needs(elsewhere))
    let loop = try ThreadLoop(name: "duties")
    let onLoop = try await loop.performAndWait { ThreadDuties.current }
    #expect(Delivery.loop(loop).needs(onLoop) && !Delivery.loop(loop).needs(elsewhere))
    #if canImport(Dispatch)
    #expect(Delivery.queue(.main).needs(main) && !Delivery.queue(.main).needs(onLoop))
    #expect(!Delivery.queue(DispatchQueue(label: "duties")).needs(main))
    #endif
    loop.stop()
  }
}
