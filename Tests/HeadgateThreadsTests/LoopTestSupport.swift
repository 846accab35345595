import HeadgateThreads
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Runs a blocking body on a separate thread, not one of Swift's cooperative threads, and returns its result.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  let result: Result<Value, any Error> = await withContinuation { continuation in
    do {
      _ = try WorkerThread(name: "test-joiner") {
        // Joined, so that everything that the thread kept is gone when the test continues.
        let thread = Result { try ManagedThread.spawn(name: "test-body") { Result { try body() } } }
        continuation.resume(returning: thread.flatMap { thread in Result { try thread.join().get() } })
      }
    } catch {
      continuation.resume(returning: .failure(error))
    }
  }
  return try result.get()
}

/// Runs a body on a thread that exits before this returns, with the thread's loop.
func onExitingThread(_ body: @escaping @Sendable () throws -> Void) throws {
  let failure = Locked<(any Error)?>(nil)
  let isOver = Latch()
  // Released by the thread's last destructors.
  let thread = try WorkerThread(name: "test-body") {
    do { try body() } catch { failure.withLock { $0 = error } }
    isOver.countDown()
  }
  try #require(isOver.wait())
  thread.join()
  if let failure = failure.withLock({ $0 }) { throw failure }
}

/// A value that a test changes. It can only be observed by polling.
final class Moment: Sendable {
  private let value = Locked(Deadline(nanoseconds: 1_000_000_000))

  var now: Deadline { value.withLock { $0 } }

  func advance(_ duration: Duration) { value.withLock { $0 = $0 + duration } }
}

/// A counter.
final class Count: Sendable {
  private let number = Locked(0)

  var value: Int { number.withLock { $0 } }

  func add(_ amount: Int = 1) { number.withLock { $0 += amount } }
}

struct TestFailure: Error, Equatable {
  let number: Int
}

extension ThreadLoop {
  /// Holds the loop inside a call until the latch is opened.
  func occupy() async -> Latch {
    let release = Latch()
    await withContinuation { continuation in
      let isTaken = perform {
        continuation.resume()
        _ = release.wait()
      }
      if !isTaken {
        Issue.record("the loop has stopped")
        continuation.resume()
      }
    }
    return release
  }

  /// Returns when everything that was sent, signalled or due before has been done (up to the share of a turn), or the
  /// loop has stopped. An item alone would not suffice: items that arrive during a turn are part of it, while sources
  /// and timers wait for the next. The item is therefore sent by a timer, and twice, since the first timer may still be
  /// part of a turn that had begun.
  func settle() async {
    for _ in 0..<2 {
      await withContinuation { continuation in
        let isOver: @Sendable () -> Void = { continuation.resume() }
        do {
          try perform(at: .distantPast) {
            self.perform(isOver, onDrop: isOver)
          } onDrop: {
            isOver()
          }
        } catch {
          isOver()
        }
      }
    }
  }
}

/// A pipe that its test closes explicitly.
final class TestPipe: Sendable {
  let readEnd: Int32
  let writeEnd: Int32
  private let isWriteEndOpen = Locked(true)

  init() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  func send(_ count: Int = 1) {
    let bytes = [UInt8](repeating: 1, count: count)
    _ = write(writeEnd, bytes, count)
  }

  /// Reads at most this number of bytes. Returns how many were read.
  @discardableResult
  func take(_ count: Int = 1) -> Int {
    var bytes = [UInt8](repeating: 0, count: count)
    return read(readEnd, &bytes, count)
  }

  func closeWriteEnd() {
    let mustClose = isWriteEndOpen.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    if mustClose { close(writeEnd) }
  }

  func closeBoth() {
    close(readEnd)
    closeWriteEnd()
  }
}
