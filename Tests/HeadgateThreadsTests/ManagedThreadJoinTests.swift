import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Runs `body` on a separate thread, where blocking is allowed, and returns its result.
func onThread<Value>(_ body: sending @escaping () throws -> sending Value) async throws -> sending Value {
  let thread = try ManagedThread<Value, any Error>.spawn(name: "test") { () throws -> Value in try body() }
  do {
    return try await thread.value(until: .after(generous))
  } catch {
    throw (error as? JoinError<any Error>)?.failure ?? error
  }
}

/// The code with which a join ended. Nil for a result.
func joinCode<Value, Failure: Error>(
  _ thread: ManagedThread<Value, Failure>, until deadline: Deadline = .after(generous)
) -> JoinErrorCode? {
  do throws(JoinError<Failure>) {
    _ = try thread.join(until: deadline)
    return nil
  } catch {
    return error.code
  }
}

@Suite struct ManagedThreadJoinTests {
  struct Broken: Error, Equatable {
    let number: Int
  }

  /// Not Sendable: one moves to the thread, another back.
  final class Counter {
    var count = 0
  }

  @Test("P30 join returns the value, also one that is not Sendable")
  func value() async throws {
    let count = try await onThread {
      let given = Counter()
      given.count = 3
      let thread = try ManagedThread.spawn { () -> Counter in
        given.count += 1
        let counter = Counter()
        counter.count = given.count + 3
        return counter
      }
      return try thread.join().count
    }
    #expect(count == 7)
  }

  @Test("P30 join throws the error of the body, with its type")
  func failure() async throws {
    let (code, failure) = try await onThread {
      let thread = try ManagedThread.spawn { () throws(Broken) -> Int in throw Broken(number: 3) }
      do throws(JoinError<Broken>) {
        _ = try thread.join()
        return (nil as JoinErrorCode?, nil as Broken?)
      } catch {
        return (error.code, error.failure)
      }
    }
    #expect(code == .failed)
    #expect(failure == Broken(number: 3))
  }

  @Test("P30 the second join is an error, after a result and after an error")
  func twice() async throws {
    let codes = try await onThread {
      let good = try ManagedThread.spawn { 1 }
      let bad = try ManagedThread.spawn { () throws(Broken) -> Int in throw Broken(number: 1) }
      return [joinCode(good), joinCode(good), joinCode(bad), joinCode(bad)]
    }
    #expect(codes == [nil, .alreadyJoined, .failed, .alreadyJoined])
  }

  @Test("P30 if two threads join one, one gets the value and the other an error, neither hangs", arguments: 0..<20)
  func byTwo(round: Int) async throws {
    let gate = Parker()
    let thread = try ManagedThread.spawn { _ = gate.park(until: .after(generous)) }
    let joiners = try (0..<2).map { _ in
      // With and without a limit, which are separate paths.
      try ManagedThread.spawn { joinCode(thread, until: round % 2 == 0 ? .after(generous) : .distantFuture) }
    }
    gate.unpark()
    var codes: [JoinErrorCode?] = []
    for joiner in joiners { codes.append(try await joiner.value(until: .after(generous))) }
    #expect(codes.contains(nil))
    #expect(codes.contains(.alreadyJoined))
  }

  @Test("P30 a thread that joins itself gets an error")
  func itself() async throws {
    let known = Latch()
    let own = LockedBox<ManagedThread<JoinErrorCode?, Never>?>(nil)
    let thread = try ManagedThread<JoinErrorCode?, Never>.spawn {
      _ = known.wait()
      return own.withLock { $0 }.flatMap { joinCode($0, until: .distantFuture) }
    }
    own.withLock { $0 = thread }
    known.countDown()
    #expect(try await thread.value(until: .after(generous)) == .joinedItself)
    own.withLock { $0 = nil }
  }

  @Test("P30 two threads that join each other without a limit: the second gets an error, the first its value")
  func ring() async throws {
    typealias Joiner = ManagedThread<Void, Never>
    let known = Latch()
    let ended = Latch(2)
    let threads = LockedBox<[Joiner]>([])
    let codes = Record<JoinErrorCode?>()
    for other in [1, 0] {
      let thread = try Joiner.spawn {
        _ = known.wait()
        let neighbour = threads.withLock { $0[other] }
        codes.add(joinCode(neighbour, until: .distantFuture))
        ended.countDown()
      }
      threads.withLock { $0.append(thread) }
    }
    known.countDown()
    #expect(ended.wait(), "both hang")
    #expect(codes.events == [.wouldDeadlock, nil])
    for thread in threads.withLock({ $0 }) { try? thread.detach() }
    threads.withLock { $0 = [] }
  }

  @Test("P30 a join after detach, and a detach after a join, are errors")
  func detached() async throws {
    let codes = try await onThread {
      let detached = try ManagedThread.spawn { 1 }
      try detached.detach()
      let joined = try ManagedThread.spawn { 1 }
      _ = joinCode(joined)
      var late: JoinErrorCode?
      do throws(JoinError<Never>) { try joined.detach() } catch { late = error.code }
      var again: JoinErrorCode?
      do throws(JoinError<Never>) { try detached.detach() } catch { again = error.code }
      let born = try ManagedThread.spawn(ThreadAttributes(isDetached: true)) { 1 }
      return [joinCode(detached), late, again, joinCode(born)]
    }
    #expect(codes == [.detached, .alreadyJoined, .detached, .detached])
  }

  @Test("A thread that was not started can't be joined; started and ended it can, even with a past deadline")
  func notStarted() async throws {
    let codes = try await onThread {
      let thread = ManagedThread { 1 }
      let before = joinCode(thread)
      try thread.start()
      var code: JoinErrorCode?
      #expect(
        looks {
          code = joinCode(thread, until: .distantPast)
          return code != .timedOut
        })
      return [before, code]
    }
    #expect(codes == [.notStarted, nil])
  }

  @Test("P06 a join that times out leaves the thread to a later join", arguments: [Deadline.distantPast, .now])
  func timesOut(deadline: Deadline) async throws {
    let codes = try await onThread {
      let gate = Parker()
      let thread = try ManagedThread.spawn { _ = gate.park(until: .after(generous)) }
      let first = joinCode(thread, until: deadline)
      let second = joinCode(thread, until: .after(.milliseconds(1)))
      gate.unpark()
      return [first, second, joinCode(thread)]
    }
    #expect(codes == [.timedOut, .timedOut, nil])
  }

  @Test(
    "P35 cancelling a joining thread wakes it, and the joined one can be joined later", arguments: [true, false])
  func cancelled(hasLimit: Bool) async throws {
    let gate = Parker()
    let worker = try ManagedThread.spawn { _ = gate.park(until: .after(generous)) }
    let joins = Latch()
    let joiner = try ManagedThread.spawn {
      joins.countDown()
      return joinCode(worker, until: hasLimit ? .after(generous) : .distantFuture)
    }
    #expect(joins.wait())
    joiner.cancel()
    #expect(try await joiner.value(until: .after(generous)) == .cancelled)
    gate.unpark()
    try await worker.value(until: .after(generous))
  }

  @Test("Cancelling a task that waits for a thread ends the wait, not the thread")
  func taskCancelled() async throws {
    let gate = Parker()
    let worker = try ManagedThread.spawn {
      _ = gate.park(until: .after(generous))
      return 5
    }
    let task = Task { try await worker.value() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    gate.unpark()
    #expect(try await worker.value(until: .after(generous)) == 5)
  }

  @Test("A join in a task is refused before it blocks, and takes an available result")
  func inTask() async throws {
    let gate = Parker()
    let worker = try ManagedThread.spawn { _ = gate.park(until: .after(generous)) }
    #expect(joinCode(worker) == .onCooperativeThread)
    gate.unpark()
    try await worker.value(until: .after(generous))
    let other = try ManagedThread.spawn {}
    var code: JoinErrorCode?
    let hasEnded = looks {
      code = joinCode(other, until: .distantPast)
      return code != .timedOut
    }
    #expect(hasEnded && code == nil)
  }

  @Test("When join returns, the captures of the body and the thread's storage are gone")
  func everythingGone() async throws {
    let census = Census()
    let alive = try await onThread {
      let local = ThreadLocal { census.token() }
      var alive: [Int] = []
      for _ in 0..<50 {
        let token = census.token()
        let thread = try ManagedThread.spawn { [token] in
          token.hold()
          local.withValue { $0.hold() }
        }
        _ = consume token
        _ = joinCode(thread, until: .distantFuture)
        alive.append(census.alive)
      }
      return alive
    }
    #expect(alive.allSatisfy { $0 == 0 })
  }

  @Test("1,000 threads leave nothing behind: results, bodies and handles are gone")
  func leaksNothing() async throws {
    let gone = Latch(1_000)
    try await onThread {
      for round in 0..<1_000 {
        let farewell = Farewell(gone)
        switch round % 4 {
        case 0: _ = try ManagedThread.spawn { farewell }.join()
        case 1: try ManagedThread.spawn { farewell }.detach()
        case 2: try ManagedThread.spawnDetached { _ = farewell }
        default: _ = ManagedThread { farewell }
        }
      }
    }
    #expect(gone.wait())
  }

  #if !canImport(Darwin)
  @Test("A thread that exits through pthread_exit causes no hang: the joiner gets an error", arguments: [true, false])
  func leaves(hasLimit: Bool) async throws {
    let code = try await onThread {
      let thread = try ManagedThread.spawn { leaveThread() }
      return joinCode(thread, until: hasLimit ? .after(generous) : .distantFuture)
    }
    #expect(code == .exited)
  }
  #endif
}

private func leaveThread() { pthread_exit(nil) }

/// Counts a latch down when it is destroyed.
final class Farewell: Sendable {
  private let latch: Latch
  init(_ latch: Latch) { self.latch = latch }
  deinit { latch.countDown() }
}
