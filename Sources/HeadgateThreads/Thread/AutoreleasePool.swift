#if canImport(ObjectiveC)
import ObjectiveC

/// Runs `body` inside an autorelease pool of its own, so that what Objective-C code leaves behind in it goes when it
/// returns and not when the thread ends: round a thread's body, each turn of a loop, each task and each timer call.
@inline(__always)
package func withAutoreleasePool<Result: ~Copyable, Failure: Error>(
  _ body: () throws(Failure) -> sending Result
) throws(Failure) -> sending Result {
  // Through a variable, because the system's function knows neither typed errors nor values that can't be copied.
  nonisolated(unsafe) var outcome: Swift.Result<Result, Failure>?
  autoreleasepool {
    do throws(Failure) { outcome = .success(try body()) } catch { outcome = .failure(error) }
  }
  while true {
    // Always there: the pool has called its closure.
    if let outcome = outcome.take() { return try outcome.get() }
  }
}
#else
/// Runs `body`. Where Objective-C exists this puts an autorelease pool round it; here there is none.
@inline(__always)
package func withAutoreleasePool<Result: ~Copyable, Failure: Error>(
  _ body: () throws(Failure) -> sending Result
) throws(Failure) -> sending Result {
  try body()
}
#endif
