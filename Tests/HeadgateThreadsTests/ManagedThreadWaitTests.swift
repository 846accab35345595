import Dispatch
import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The code with which a wait ended. Nil if it succeeded.
func waitCode(_ wait: () throws(WaitError) -> Void) -> WaitError.Code? {
  do throws(WaitError) {
    try wait()
    return nil
  } catch {
    return error.code
  }
}

@Suite struct ManagedThreadWaitTests {
  @Test("A stored permit is taken at once, and two are one")
  func permit() async throws {
    let codes = try await onThread {
      ManagedThread.current.unpark()
      ManagedThread.current.unpark()
      return [
        waitCode { () throws(WaitError) in try ManagedThread.park() },
        waitCode { () throws(WaitError) in try ManagedThread.park(until: .distantPast) },
      ]
    }
    #expect(codes == [nil, .timedOut])
  }

  @Test("P10 10,000 turns of two threads that wake each other by park and unpark lose no permit")
  func pingPong() async throws {
    let partner = LockedBox<ThreadHandle?>(nil)
    let known = Latch()
    let main = try ManagedThread.spawn { () -> Int in
      let me = ManagedThread.current
      partner.withLock { $0 = me }
      known.countDown()
      for turn in 0..<10_000 {
        guard waitCode({ () throws(WaitError) in try ManagedThread.park(until: .after(generous)) }) == nil else {
          return turn
        }
        partner.withLock { $0 }?.unpark()
      }
      return 10_000
    }
    #expect(known.wait())
    let other = try ManagedThread.spawn { () -> Int in
      let me = ManagedThread.current
      guard
        let first = partner.withLock({ partner in
          defer { partner = me }
          return partner
        })
      else { return -1 }
      for turn in 0..<10_000 {
        first.unpark()
        guard waitCode({ () throws(WaitError) in try ManagedThread.park(until: .after(generous)) }) == nil else {
          return turn
        }
      }
      return 10_000
    }
    // Each park has its own limit: on a busy machine all of the turns may take longer than a minute.
    #expect(try await main.value() == 10_000)
    #expect(try await other.value() == 10_000)
  }

  @Test("A permit survives the library's own waits: a sleep does not consume it")
  func permitSurvivesSleep() async throws {
    let codes = try await onThread {
      ManagedThread.current.unpark()
      return [
        waitCode { () throws(WaitError) in try ManagedThread.sleep(for: .milliseconds(2)) },
        waitCode { () throws(WaitError) in try ManagedThread.park(until: .distantPast) },
      ]
    }
    #expect(codes == [nil, nil])
  }

  @Test("P09 a sleep never ends early, whatever tokens and permits arrive", arguments: [0, 1, 50, 2_000])
  func neverEarly(microseconds: Int) async throws {
    let isLate = try await onThread {
      let me = ManagedThread.current
      let disturber = try ManagedThread.spawn { for _ in 0..<1_000 { me.unpark() } }
      let deadline = Deadline.after(.microseconds(microseconds))
      try ManagedThread.sleep(until: deadline)
      let isLate = Deadline.now >= deadline
      _ = joinCode(disturber)
      return isLate
    }
    #expect(isLate)
  }

  @Test(
    "P07 a sleep until the past ends at once", arguments: [Deadline.distantPast, .after(.seconds(Int64.min)), .now])
  func past(deadline: Deadline) async throws {
    let code = try await onThread { waitCode { () throws(WaitError) in try ManagedThread.sleep(until: deadline) } }
    #expect(code == nil)
  }

  enum Wait: CaseIterable {
    case sleep, endlessSleep, park, timedPark
  }

  @Test("P35 cancel wakes a sleeping or parked thread", arguments: Wait.allCases)
  func cancelWakes(wait: Wait) async throws {
    let waits = Latch()
    let thread = try ManagedThread.spawn { () -> WaitError.Code? in
      waits.countDown()
      return waitCode { () throws(WaitError) in
        switch wait {
        case .sleep: try ManagedThread.sleep(for: generous)
        case .endlessSleep: try ManagedThread.sleep(until: .distantFuture)
        case .park: try ManagedThread.park()
        case .timedPark: try ManagedThread.park(until: .after(generous))
        }
      }
    }
    #expect(waits.wait())
    thread.cancel()
    #expect(try await thread.value(until: .after(generous)) == .cancelled)
  }

  @Test("P35 cancel before the start: the body runs, sees it, and its waits end at once")
  func cancelBefore() async throws {
    let thread = ManagedThread { () -> [WaitError.Code?] in
      [
        ManagedThread.current.isCancelled ? .cancelled : nil,
        waitCode { () throws(WaitError) in try ManagedThread.checkCancellation() },
        waitCode { () throws(WaitError) in try ManagedThread.sleep(until: .distantFuture) },
        waitCode { () throws(WaitError) in try ManagedThread.park() },
      ]
    }
    thread.cancel()
    try thread.start()
    #expect(try await thread.value(until: .after(generous)) == Array(repeating: .cancelled, count: 4))
  }

  @Test("P35 cancel and unpark after the end have no effect")
  func cancelAfter() async throws {
    let handle = try await onThread { ManagedThread.current }
    handle.cancel()
    handle.unpark()
    #expect(handle.isCancelled)
    #expect(handle.systemNumber == nil)
    #expect(throws: ThreadError.self) { try handle.setPriority(.standard) }
  }

  @Test("P36 a body that polls isCancelled sees the cancellation by another thread")
  func flag() async throws {
    let runs = Latch()
    let thread = try ManagedThread.spawn { () -> Bool in
      runs.countDown()
      let limit = Deadline.after(generous)
      while !ManagedThread.current.isCancelled, .now < limit {}
      return ManagedThread.current.isCancelled
    }
    #expect(runs.wait())
    thread.cancel()
    #expect(try await thread.value(until: .after(generous)))
  }

  @Test("Waits in a task are refused before they block; available results are taken")
  func inTask() {
    #expect(waitCode { () throws(WaitError) in try ManagedThread.sleep(for: generous) } == .onCooperativeThread)
    #expect(waitCode { () throws(WaitError) in try ManagedThread.sleep(for: .zero) } == nil)
    ManagedThread.current.unpark()
    #expect(waitCode { () throws(WaitError) in try ManagedThread.park() } == nil)
    #expect(waitCode { () throws(WaitError) in try ManagedThread.park(until: .distantPast) } == .timedOut)
    #expect(waitCode { () throws(WaitError) in try ManagedThread.park() } == .onCooperativeThread)
  }

  @Test(
    "On foreign threads current, park and unpark work, cancel is refused, and values are destroyed at the end",
    arguments: ForeignThread.allCases)
  func foreign(maker: ForeignThread) async throws {
    struct Seen {
      var isManaged = true
      var couldCancel = true
      var isCancelled = true
      var parked: WaitError.Code?? = nil
      var slept: WaitError.Code?? = nil
      var isSame = false
    }
    let seen = LockedBox(Seen())
    let gone = Latch()
    let handle = LockedBox<ThreadHandle?>(nil)
    let local = ThreadLocal { Farewell(gone) }
    try maker.run {
      let me = ManagedThread.current
      handle.withLock { $0 = me }
      local.withValue { _ in }
      me.unpark()
      let new = Seen(
        isManaged: me.isManaged, couldCancel: me.cancel(), isCancelled: me.isCancelled,
        parked: waitCode { () throws(WaitError) in try ManagedThread.park(until: .after(generous)) },
        slept: waitCode { () throws(WaitError) in try ManagedThread.sleep(for: .microseconds(10)) },
        isSame: me == ManagedThread.current && me.isCurrent)
      seen.withLock { $0 = new }
      // libdispatch keeps its threads for others.
      if maker == .dispatch { local.removeValue() }
    }
    #expect(gone.wait())
    let result = seen.withLock { $0 }
    #expect(!result.isManaged && !result.couldCancel && !result.isCancelled && result.isSame)
    #expect(result.parked == .some(nil))
    #expect(result.slept == .some(nil))
    #expect(handle.withLock { $0 }?.isCurrent == false)
  }
}

/// Other creators of threads.
enum ForeignThread: CaseIterable, Sendable {
  case pthread, dispatch

  func run(_ body: @escaping @Sendable () -> Void) throws {
    switch self {
    case .pthread: try onForeignThread(body)
    case .dispatch: DispatchQueue(label: "test-queue").async(execute: body)
    }
  }
}

/// Runs `body` on a thread made by pthread, which is unknown to this library.
func onForeignThread(_ body: @escaping @Sendable () -> Void) throws {
  final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  #if canImport(Darwin)
  var thread: pthread_t?
  let failure = pthread_create(
    &thread, nil,
    { context in
      Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
      return nil
    }, Unmanaged.passRetained(Box(body)).toOpaque())
  try #require(failure == 0)
  if let thread { pthread_detach(thread) }
  #else
  var thread = pthread_t()
  let failure = pthread_create(
    &thread, nil,
    { context in
      if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
      return nil
    }, Unmanaged.passRetained(Box(body)).toOpaque())
  try #require(failure == 0)
  pthread_detach(thread)
  #endif
}
