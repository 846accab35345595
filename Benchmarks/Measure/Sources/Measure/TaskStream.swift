import Dispatch

/// Runs one task that puts and one that takes, and blocks until both have ended; returns the sum of the elements taken.
public func moveByTasks(
  put: @escaping @Sendable () async throws -> Void, take: @escaping @Sendable () async throws -> UInt64
) -> UInt64 {
  let done = DispatchSemaphore(value: 0)
  // Written by one task before its signal, read after waiting for that signal.
  nonisolated(unsafe) var sum: UInt64 = 0
  Task.detached {
    do { try await put() } catch { complain("a put failed: \(error)") }
    done.signal()
  }
  Task.detached {
    do { sum = try await take() } catch { complain("a take failed: \(error)") }
    done.signal()
  }
  for _ in 0..<2 { done.wait() }
  return sum
}
