import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

@Suite struct ManagedThreadStartTests {
  @Test("A thread made by init runs once it is started, and only once")
  func start() async throws {
    let counter = LockedBox(0)
    let thread = ManagedThread { counter.withLock { $0 += 1 } }
    #expect(!thread.isRunning && !thread.hasEnded)
    #expect(counter.withLock { $0 } == 0)
    try thread.start()
    #expect(throws: ThreadError.self) { try thread.start() }
    try await thread.value(until: .after(generous))
    #expect(throws: ThreadError.self) { try thread.start() }
    #expect(counter.withLock { $0 } == 1)
    #expect(thread.hasEnded && !thread.isRunning)
  }

  @Test("Attributes can be changed until the start, and not after")
  func configure() async throws {
    let thread = ManagedThread { ManagedThread.current.name }
    try thread.configure { $0.name = "later" }
    #expect(thread.attributes.name == "later")
    try thread.start()
    let error = #expect(throws: ThreadError.self) { try thread.configure { $0.name = "too late" } }
    #expect(error?.code == .alreadyStarted)
    #expect(try await thread.value(until: .after(generous)) == "later")
    #expect(thread.name == "later")
  }

  @Test(
    "P31 a name is cut to the system's limit on a character's boundary; the whole name stays readable",
    arguments: [
      ("", ""),
      ("0123456789abcde", "0123456789abcde"),
      ("0123456789abcdef", "0123456789abcde"),
      (String(repeating: "x", count: 64), String(repeating: "x", count: 15)),
      ("0123456789abcdé", "0123456789abcd"),
      ("0123456789abcd\u{65}\u{301}", "0123456789abcd"),
      ("日本語日本語", "日本語日本"),
      ("👩‍👩‍👧‍👦", "👩‍👩‍"),
      ("before\0after", "before"),
    ]
  )
  func name(name: String, onLinux: String) async throws {
    let (whole, system, creator) = try await onThread {
      let creator = systemName()
      let thread = try ManagedThread.spawn(name: name) {
        return (ManagedThread.current.name, systemName(), creator)
      }
      return try thread.join()
    }
    #expect(whole == name)
    #if !canImport(Darwin)
    // A thread without a name has its creator's.
    #expect(system == (name.isEmpty ? creator : onLinux))
    #endif
  }

  @Test(
    "P32 stacks of one byte, odd sizes and a gigabyte: rounded up, and as large as the system says",
    arguments: [
      1, 16_383, 16_384, 100_001, 1 << 20, 1 << 30,
    ])
  func stack(size: Int) async throws {
    let (inside, outside, afterwards) = try await onThread {
      let measured = Parker()
      let go = Parker()
      let thread = try ManagedThread.spawn(ThreadAttributes(stackSize: size)) {
        let size = ManagedThread.current.stackSize
        measured.unpark()
        _ = go.park(until: .after(generous))
        return size
      }
      _ = measured.park(until: .after(generous))
      let outside = thread.stackSize
      go.unpark()
      return (try thread.join(), outside, thread.stackSize)
    }
    let effective = try #require(inside)
    let page = Int(sysconf(Int32(_SC_PAGESIZE)))
    let least = max(size, Int(sysconf(Int32(_SC_THREAD_STACK_MIN))) + 64 * 1024)
    #expect(effective >= (least + page - 1) / page * page)
    #expect(outside == effective)
    #expect(afterwards == nil)
  }

  @Test("P32 a thread on the smallest stack can use the library: log, store, throw")
  func leastStack() async throws {
    struct Broken: Error {}
    let code = try await onThread {
      let local = ThreadLocal { [1, 2, 3] }
      let thread = try ManagedThread.spawn(ThreadAttributes(name: "small", stackSize: 1)) { () throws(Broken) -> Int in
        ManagedThread.dictionary["key"] = "\(local.value) \(ManagedThread.current)"
        try? ManagedThread.sleep(for: .zero)
        throw Broken()
      }
      return joinCode(thread)
    }
    #expect(code == .failed)
  }

  @Test(
    "P32 absurd stack sizes throw; a thread that failed to start can be started again",
    arguments: [-1, .min, .max, 1 << 60])
  func absurdStack(size: Int) async throws {
    let thread = ManagedThread(ThreadAttributes(name: "absurd", stackSize: size)) { 1 }
    let error = #expect(throws: ThreadError.self) { try thread.start() }
    #expect(error?.code == .invalidStackSize)
    #expect(error?.name == "absurd")
    try thread.configure { $0.stackSize = 0 }
    try thread.start()
    #expect(try await thread.value(until: .after(generous)) == 1)
  }

  @Test("P40 a thread has its creator's signal mask, from its first line to its last")
  func signals() async throws {
    let (first, last) = try await onThread {
      // This thread's own mask. It ends soon.
      var blocked = sigset_t()
      sigemptyset(&blocked)
      sigaddset(&blocked, SIGWINCH)
      pthread_sigmask(SIG_BLOCK, &blocked, nil)
      // Blocked by libdispatch's threads, and therefore by their descendants.
      var open = sigset_t()
      sigemptyset(&open)
      sigaddset(&open, SIGURG)
      pthread_sigmask(SIG_UNBLOCK, &open, nil)
      let atExit = LockedBox<Bool?>(nil)
      let local = ThreadLocal { AtExit { atExit.withLock { $0 = blocks(SIGWINCH) && !blocks(SIGURG) } } }
      let thread = try ManagedThread.spawn {
        local.withValue { _ in }
        return blocks(SIGWINCH) && !blocks(SIGURG)
      }
      return (try thread.join(), atExit.withLock { $0 })
    }
    #expect(first)
    #expect(last == true)
  }

  @Test("A library thread may block, also with a task on it; other threads with a task may not")
  func mustNotBlock() async throws {
    #expect(WorkerThread.mustNotBlock)
    #expect(try await onThread { WorkerThread.mustNotBlock } == false)
    let answer = LockedBox<Bool?>(nil)
    let served = try WorkerThread(name: "serves", serves: true) {
      let mustNotBlock = WorkerThread.mustNotBlock
      answer.withLock { $0 = mustNotBlock }
    }
    served.join()
    #expect(answer.withLock { $0 } == true)
  }
}

/// The calling thread's name in the system.
private func systemName() -> String {
  var buffer = [CChar](repeating: 0, count: 256)
  #if canImport(Darwin)
  pthread_getname_np(pthread_self(), &buffer, buffer.count)
  #else
  guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
  defer { fclose(file) }
  fgets(&buffer, Int32(buffer.count), file)
  #endif
  let bytes = buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }
  return String(decoding: bytes, as: UTF8.self)
}

/// Whether the calling thread blocks a signal.
private func blocks(_ signal: Int32) -> Bool {
  var mask = sigset_t()
  pthread_sigmask(SIG_BLOCK, nil, &mask)
  return sigismember(&mask, signal) == 1
}

/// Calls its closure when it is destroyed.
final class AtExit: Sendable {
  private let action: @Sendable () -> Void
  init(_ action: @escaping @Sendable () -> Void) { self.action = action }
  deinit { action() }
}
