import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateFlow

/// Identical work is done once at a time.
@Suite struct SingleFlightTests {
  private let joined = Record<String>()
  private let begun = Record<String>()
  private let flight: SingleFlight<String, Int>

  init() {
    let joined = joined
    flight = SingleFlight { joined.add($0) }
  }

  /// A caller in its own task, whose work waits at a gate, and fails if it was cancelled there.
  private func call(_ key: String = "k", at gate: Gate, bringing value: Int = 1) -> Task<Int, any Error> {
    Task { [flight, begun] in
      try await flight.run(key) {
        begun.add(key)
        await gate.waitRegardless()
        return value
      }
    }
  }

  @Test("all callers of a key during the work get the one result")
  func once() async throws {
    let gate = Gate()
    let calls = (0..<10).map { call(at: gate, bringing: $0) }
    await joined.wait(for: 10)
    #expect(flight.count == 1)
    gate.open()
    let values = try await calls.values()
    #expect(Set(values).count == 1 && begun.events.count == 1)
    #expect(flight.count == 0)
  }

  @Test("all get the one error")
  func failure() async throws {
    let gate = Gate()
    let calls = (0..<3).map { number in
      Task { [flight] in
        try await flight.run("k") {
          await gate.waitRegardless()
          throw Oops(number: 7)
        }
      }
    }
    await joined.wait(for: 3)
    gate.open()
    for call in calls { await #expect(throws: Oops(number: 7)) { try await call.value } }
    #expect(flight.count == 0)
  }

  @Test("the result is not kept")
  func notKept() async throws {
    let values = LockedBox(0)
    for expected in 1...3 {
      let value = try await flight.run("k") {
        values.withLock {
          $0 += 1; return $0
        }
      }
      #expect(value == expected)
    }
  }

  @Test("different keys do not wait for each other")
  func keys() async throws {
    let gates = ["a": Gate(), "b": Gate()]
    let calls = try ["a", "b"].map { call($0, at: try #require(gates[$0]), bringing: $0 == "a" ? 1 : 2) }
    await begun.wait(for: 2)
    gates["b"]?.open()
    #expect(try await calls[1].value == 2)
    #expect(flight.count == 1)
    gates["a"]?.open()
    #expect(try await calls[0].value == 1)
  }

  @Test("a cancelled caller leaves at once, even the first one; the others get the result")
  func oneCancelled() async throws {
    let gate = Gate()
    let calls = (0..<3).map { _ in call(at: gate) }
    await joined.wait(for: 3)
    calls[0].cancel()
    await #expect(throws: CancellationError.self) { try await calls[0].value }
    calls[1].cancel()
    await #expect(throws: CancellationError.self) { try await calls[1].value }
    gate.open()
    #expect(try await calls[2].value == 1)
    #expect(begun.events.count == 1)
  }

  @Test("the last cancellation cancels the work, and the next caller begins it again, before the old work has ended")
  func lastCancelled() async throws {
    let (cancelled, ended, gate) = (Gate(), Gate(), Gate())
    let calls = (0..<2).map { _ in
      Task { [flight, begun] in
        try await flight.run("k") {
          begun.add("old")
          await withTaskCancellationHandler {
            await cancelled.waitRegardless()
          } onCancel: {
            cancelled.open()
          }
          let isCancelled = Task.isCancelled
          await gate.waitRegardless()
          ended.open()
          return isCancelled ? -1 : 0
        }
      }
    }
    await joined.wait(for: 2)
    await begun.wait(for: 1)
    for call in calls { call.cancel() }
    for call in calls { await #expect(throws: CancellationError.self) { try await call.value } }
    try await cancelled.wait()
    #expect(flight.count == 0)
    #expect(try await flight.run("k") { 5 } == 5)
    gate.open()
    try await ended.wait()
  }

  @Test("a caller that was cancelled in advance begins nothing")
  func cancelledBefore() async throws {
    let gate = Gate()
    let call = Task { [flight, begun] in
      await gate.waitRegardless()
      return try await flight.run("k") {
        begun.add("k")
        return 1
      }
    }
    call.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await call.value }
    #expect(begun.events.isEmpty && joined.events.isEmpty)
  }

  @Test("work that requests its own key is refused, also through other work and in a task that it begins")
  func itself() async throws {
    for way in 0..<3 {
      let flight = flight
      do {
        _ = try await flight.run("k") {
          switch way {
          case 0: try await flight.run("k") { 1 }
          case 1: try await flight.run("other") { try await flight.run("k") { 1 } }
          default: try await Task { try await flight.run("k") { 1 } }.value
          }
        }
        Issue.record("it is accepted")
      } catch let error as FlowError {
        #expect(error.code == .wouldDeadlock)
      }
    }
    #expect(flight.count == 0)
  }

  @Test("work may request other keys; a task that it leaves behind may request its key once it has ended")
  func others() async throws {
    let (flight, gate) = (flight, Gate())
    let task = LockedBox<Task<Int, any Error>?>(nil)
    let value = try await flight.run("a") {
      task.withLock {
        $0 = Task {
          await gate.waitRegardless()
          return try await flight.run("a") { 2 }
        }
      }
      return try await flight.run("b") { 1 }
    }
    gate.open()
    #expect(value == 1)
    #expect(try await task.withLock { $0 }?.value == 2)
  }

  @Test("after `forget` new work begins; current waiters get the old result")
  func forget() async throws {
    let (old, new) = (Gate(), Gate())
    #expect(!flight.forget("k"))
    let first = call(at: old, bringing: 1)
    await joined.wait(for: 1)
    #expect(flight.forget("k"))
    let second = call(at: new, bringing: 2)
    await joined.wait(for: 2)
    #expect(flight.count == 2)
    old.open()
    #expect(try await first.value == 1)
    let third = call(at: new, bringing: 3)
    await joined.wait(for: 3)
    new.open()
    #expect(try await second.value == 2)
    #expect(try await third.value == 2)
  }

  @Test("the work has the task-local values of the caller that began it")
  func taskLocals() async throws {
    let value = try await Self.$local.withValue(5) { [flight] in try await flight.run("k") { Self.local } }
    #expect(value == 5)
  }

  @TaskLocal private static var local = 0

  @Test("a caller of a higher priority raises that of the work")
  func priority() async throws {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let (gate, raised) = (Gate(), Gate())
    let first = Task(priority: .low) { [flight, begun] in
      try await flight.run("k") {
        await withTaskPriorityEscalationHandler {
          begun.add("k")
          await gate.waitRegardless()
        } onPriorityEscalated: { _, new in
          if new >= .high { raised.open() }
        }
        return 1
      }
    }
    await begun.wait(for: 1)
    let second = Task(priority: .high) { [flight] in try await flight.run("k") { 2 } }
    try await raised.wait()
    gate.open()
    #expect(try await first.value == 1)
    #expect(try await second.value == 1)
  }

  @Test("many tasks with callers: each gets its key's value or its cancellation, and nothing is left")
  func storm() async throws {
    let flight = SingleFlight<Int, Int>()
    let counts = LockedBox((results: 0, cancelled: 0, runs: 0))
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(number))
          for _ in 0..<500 {
            let key = Int.random(in: 0..<4, using: &random)
            let yields = Int.random(in: 0..<4, using: &random)
            let call = Task {
              try await flight.run(key) {
                counts.withLock { $0.runs += 1 }
                for _ in 0..<yields { await Task.yield() }
                return key
              }
            }
            for _ in 0..<Int.random(in: 0..<4, using: &random) { await Task.yield() }
            if Bool.random(using: &random) { call.cancel() }
            if Int.random(in: 0..<20, using: &random) == 0 { flight.forget(key) }
            do {
              let value = try await call.value
              if value != key { Issue.record("\(value) for \(key)") }
              counts.withLock { $0.results += 1 }
            } catch {
              if !(error is CancellationError) { Issue.record(error) }
              counts.withLock { $0.cancelled += 1 }
            }
          }
        }
      }
    }
    let (results, cancelled, runs) = counts.withLock { $0 }
    #expect(results + cancelled == 4000 && runs <= 4000)
    #expect(flight.count == 0)
  }
}

extension Array where Element == Task<Int, any Error> {
  fileprivate func values() async throws -> [Int] {
    var values: [Int] = []
    for task in self { values.append(try await task.value) }
    return values
  }
}
