#if os(Linux)
import Foundation
import Testing

@testable import HeadgateThreads

@Suite struct ThreadPriorityTests {
  @Test("A thread's priority is described with its level if that matters")
  func description() {
    let normal = EffectivePriority(policy: .standard, level: 0, nice: 7, quality: nil)
    let first = EffectivePriority(policy: .fifo, level: 3, nice: 0, quality: nil)
    #expect(["\(normal)", "\(first)"] == ["standard, nice 7", "fifo, level 3, nice 0"])
  }

  @Test(
    "A thread has the requested nice value or policy, as reported by the system",
    arguments: [
      (ThreadPriority.background, 19, SchedulingPolicy.standard),
      (.utility, 10, .standard),
      (.nice(7), 7, .standard),
      (.policy(.batch), 0, .batch),
      (.policy(.idle), 0, .idle),
    ]
  )
  func granted(priority: ThreadPriority, nice: Int, policy: SchedulingPolicy) async throws {
    let (inside, outside) = try await onThread {
      let told = Parker()
      let go = Parker()
      let thread = try ManagedThread.spawn(ThreadAttributes(priority: priority)) {
        let inside = try? ManagedThread.current.effectivePriority()
        told.unpark()
        _ = go.park(until: .after(generous))
        return inside
      }
      _ = told.park(until: .after(generous))
      let outside = try? thread.handle.effectivePriority()
      go.unpark()
      return (try thread.join(), outside)
    }
    #expect(inside?.policy == policy)
    #expect(inside?.nice == nice)
    #expect(inside == outside)
  }

  @Test("A running thread changes its own priority, and another's, and no others")
  func change() async throws {
    let nice = try await onThread {
      let (runs, go) = (Parker(), Parker())
      let other = try ManagedThread.spawn {
        runs.unpark()
        _ = go.park(until: .after(generous))
      }
      _ = runs.park(until: .after(generous))
      try ManagedThread.current.setPriority(.nice(5))
      try other.handle.setPriority(.nice(9))
      try ManagedThread.current.setPriority(.inherited)
      defer {
        go.unpark()
        _ = joinCode(other)
      }
      return [try ManagedThread.current.effectivePriority().nice, try other.handle.effectivePriority().nice]
    }
    #expect(nice == [5, 9])
    #expect(try await onThread { try ManagedThread.current.effectivePriority().nice } == 0)
  }

  @Test("A refusal is an error with a reason, at the start and while running; the body has not run")
  func refused() async throws {
    let ran = LockedBox(0)
    let (errors, ranWhenRefused) = try await onThread {
      let thread = try ManagedThread.spawn { () -> ([ThreadError?], Int) in
        giveUpRights()
        var errors: [ThreadError?] = []
        let refused = ManagedThread(ThreadAttributes(name: "refused", priority: .nice(-5))) { ran.withLock { $0 += 1 } }
        for priority in [ThreadPriority.nice(-5), .policy(.fifo, level: 10), .nice(100), .policy(.fifo, level: .max)] {
          do throws(ThreadError) {
            try refused.configure { $0.priority = priority }
            try refused.start()
            errors.append(nil)
          } catch {
            errors.append(error)
          }
        }
        do throws(ThreadError) {
          try ManagedThread.current.setPriority(.nice(-1))
          errors.append(nil)
        } catch {
          errors.append(error)
        }
        let ranWhenRefused = ran.withLock { $0 }
        // The same thread, with a priority that is granted.
        do throws(ThreadError) {
          try refused.configure { $0.priority = .nice(3) }
          try refused.start()
        } catch {
          errors.append(error)
        }
        _ = joinCode(refused)
        return (errors, ranWhenRefused)
      }
      return try thread.join()
    }
    #expect(errors.map { $0?.code } == Array(repeating: .priorityRefused, count: 5))
    #expect(errors.compactMap { $0?.errno } == [EACCES, EPERM, EINVAL, EINVAL, EACCES])
    #expect(ranWhenRefused == 0)
    #expect(ran.withLock { $0 } == 1)
  }

  @Test(
    "A named priority that the system does not permit is no error: the thread keeps its nice value",
    arguments: [ThreadPriority.standard, .userInitiated, .userInteractive]
  )
  func named(priority: ThreadPriority) async throws {
    let nice = try await onThread {
      let niced = try ManagedThread.spawn { () throws -> [Int] in
        giveUpRights()
        try ManagedThread.current.setPriority(.nice(10))
        let thread = try ManagedThread.spawn(ThreadAttributes(priority: priority)) {
          try ManagedThread.current.effectivePriority().nice
        }
        try ManagedThread.current.setPriority(priority)
        return [try thread.join(), try ManagedThread.current.effectivePriority().nice]
      }
      return try niced.join()
    }
    #expect(nice == [10, 10])
  }

  @Test("P33 if the system has no more threads, that is an error, and the body is kept for the next attempt")
  func noMoreThreads() async throws {
    let gone = Latch()
    let (error, value) = try await onThread { () throws -> (ThreadError?, Bool) in
      let farewell = Farewell(gone)
      let thread = ManagedThread(ThreadAttributes(name: "one too many")) { farewell }
      let error = try ManagedThread<ThreadError?, Never>.spawn {
        guard refuseNewThreads() else { return nil }
        do throws(ThreadError) {
          try thread.start()
          return nil
        } catch {
          return error
        }
      }.join()
      // From a thread with different privileges.
      if error != nil { try thread.start() }
      return (error, error == nil ? true : joinCode(thread) == nil)
    }
    #expect(error?.code == .outOfResources)
    #expect(error?.errno == EAGAIN)
    #expect(error?.name == "one too many")
    #expect(value)
    #expect(gone.wait())
  }
}

// Swift imports no variadic functions. On Linux's systems they take these arguments as others do.
private typealias SystemCall =
  @convention(c) (Int, Int, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int, Int) -> Int

private func systemCall(
  _ number: Int, _ first: Int, _ second: UnsafeMutableRawPointer?, _ third: UnsafeMutableRawPointer?
) -> Int {
  guard let address = dlsym(nil, "syscall") else { return -1 }
  return unsafeBitCast(address, to: SystemCall.self)(number, first, second, third, 0, 0)
}

#if arch(x86_64)
private let (capset, seccomp, prctl, clone) = (126, 317, 157, 56)
#else
private let (capset, seccomp, prctl, clone) = (91, 277, 167, 220)
#endif

/// Drops all privileges of the calling thread, for good.
private func giveUpRights() {
  var header: [UInt32] = [0x2008_0522, 0]
  var rights = [UInt32](repeating: 0, count: 6)
  header.withUnsafeMutableBytes { header in
    rights.withUnsafeMutableBytes { rights in
      guard let address = header.baseAddress else { return }
      _ = systemCall(capset, Int(bitPattern: address), rights.baseAddress, nil)
    }
  }
}

/// From here on `clone` and `clone3` return EAGAIN on the calling thread, by a seccomp filter.
private func refuseNewThreads() -> Bool {
  struct Instruction {
    var code: UInt16
    var ifTrue: UInt8 = 0
    var ifFalse: UInt8 = 0
    var value: UInt32
  }
  var filter = [
    Instruction(code: 0x20, value: 0),  // load the call's number
    Instruction(code: 0x15, ifTrue: 1, value: UInt32(clone)),
    Instruction(code: 0x15, ifFalse: 1, value: 435),
    Instruction(code: 0x06, value: 0x0005_0000 | UInt32(EAGAIN)),
    Instruction(code: 0x06, value: 0x7fff_0000),
  ]
  // No new privileges, which an ordinary process needs before it may set a filter.
  guard systemCall(prctl, 38, UnsafeMutableRawPointer(bitPattern: 1), nil) == 0 else { return false }
  return filter.withUnsafeMutableBytes { filter in
    struct Program {
      var count: UInt16
      var filter: UnsafeMutableRawPointer?
    }
    var program = Program(count: 5, filter: filter.baseAddress)
    return withUnsafeMutableBytes(of: &program) { systemCall(seccomp, 1, nil, $0.baseAddress) == 0 }
  }
}
#endif
