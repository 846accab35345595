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
    on target: Delivery, discard: (@Sendable (Int) -> Void)? = nil, _ function: CallbackFunction<Int, Oops>,
    _ where: @escaping @Sendable () -> Bool = { true }
  ) -> Record<String> {
    let heard = Record<String>()
    startCallback(on: target, discard: discard, function) { result in
      let place = `where`() ? "there" : "elsewhere"
      switch result {
      case .success(let value): heard.add("\(value) \(place)")
      case .failure(let error): heard.add("\(error.failure.map { "!\($0.number)" } ?? "\(error.code)") \(place)")
      }
    }
    return heard
  }

  @Test("On a loop, the main actor, a pool, a queue, through a closure: successes and failures alike")
  func places() async throws {
    let loop = try ThreadLoop(name: "delivery")
    let pool = try ThreadPool(name: "delivery", size: 1)
    for (function, word) in [
      ({ @Sendable (completion: Completion<Int, Oops>) in completion.succeed(1) }, "1"),
      ({ @Sendable (completion: Completion<Int, Oops>) in completion.fail(Oops(number: 2)) }, "!2"),
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
      #expect(Self.start(on: .inline, function).events == ["\(word) there"])
    }
    loop.stop()
    pool.dispose()
  }

  @Test("A failure comes to the main actor from the step where it happened, among several that run at once")
  func failureOfStep() async {
    let (heard, hand) = (Record<String>(), Hand<Int>())
    let flow = allSucceed([step("log in", hand.function(0)), step("upload", hand.function(1))])
    startCallback(on: .mainActor, flow) { result in
      MainActor.assumeIsolated {}
      if case .failure(let error) = result {
        heard.add("\(error.failure?.failure?.step ?? "-") at \(error.failure?.inputs ?? [])")
      }
    }
    hand.fail(1)
    hand.drop(0)
    await heard.wait(for: 1)
    #expect(heard.events == ["upload at [1]"])
  }

  @Test("The answers of one thread come to a loop in the order in which they were given")
  func order() async throws {
    let loop = try ThreadLoop(name: "delivery")
    let heard = Record<Int>()
    for number in 0..<100 {
      startCallback(on: .loop(loop), { (completion: Completion<Int, Oops>) in completion.succeed(number) }) {
        heard.add((try? $0.get()) ?? -1)
      }
    }
    await heard.wait(for: 100)
    #expect(heard.events == Array(0..<100))
    loop.stop()
  }

  @Test("A place that takes nothing any more: told once, as undeliverable, and a success is discarded")
  func gone() async throws {
    let loop = try ThreadLoop(name: "delivery")
    loop.stop()
    let pool = try ThreadPool(name: "delivery", size: 1)
    pool.dispose()
    let kept = Locked<[@Sendable () -> Void]>([])
    let targets: [Delivery] = [
      .loop(loop), .pool(pool), .submitting { _ in throw Oops(number: 8) }, .submitting { _ in },
      .submitting { call in
        call()
        call()
      },
    ]
    let discarded = Record<Int>()
    let heard = targets.enumerated().map { index, target in
      Self.start(on: target, discard: { discarded.add($0) }, { $0.succeed(index) }).events
    }
    #expect(heard == Array(repeating: ["undeliverable there"], count: 4) + [["4 there"]])
    #expect(discarded.events == [0, 1, 2, 3])
    _ = kept
  }

  @Test("A loop that stops with the answer in its inbox, a pool that drops it: told, not lost")
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
    await inLoop.wait()
    await inPool.wait()
    let onLoop = Self.start(on: .loop(loop), { $0.succeed(1) })
    let onPool = Self.start(on: .pool(pool), { $0.succeed(2) })
    #expect(onLoop.events.isEmpty && onPool.events.isEmpty)
    loop.stop()
    pool.dispose(.now)
    release.open()
    await onLoop.wait(for: 1)
    await onPool.wait(for: 1)
    #expect(onLoop.events == ["undeliverable there"])
    #expect(onPool.events == ["undeliverable there"])
  }

  @Test("A full pool refuses at once instead of holding the one who answers")
  func fullPool() async throws {
    let pool = try ThreadPool(name: "full", size: 1, queueBound: 0)
    let (inside, release) = (Gate(), Gate())
    try pool.execute {
      inside.open()
      _ = release.wait(until: generous)
    }
    await inside.wait()
    let heard = try await onThread { Self.start(on: .pool(pool), { $0.succeed(1) }).events }
    #expect(heard == ["undeliverable there"])
    release.open()
    pool.dispose()
  }

  @Test("What waits is told where its answer could not be delivered, and why")
  func waiting() async throws {
    let error = await #expect(throws: FlowError<Oops>.self) {
      try await awaitCallback { (completion: Completion<Int, Oops>) in
        completion.deliver(on: .submitting { _ in throw Oops(number: 5) }).succeed(1)
      }
    }
    #expect(error?.code == .undeliverable && error?.underlying as? Oops == Oops(number: 5))
  }

  @Test(
    "P97 delivery on the main actor is refused to a wait of the main thread; duties are those of the thread asked about"
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
    #endif
    loop.stop()
  }
}
