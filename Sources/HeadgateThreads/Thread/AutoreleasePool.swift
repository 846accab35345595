// An autorelease pool round what is called on our threads: a thread's body, each turn of a loop, each task of a pool and
// each timer call. The two runtime calls are those that compilers emit for @autoreleasepool ("Objective-C Automatic
// Reference Counting", section 7, in Clang's documentation).
//
// Rejected: the overlay's autoreleasepool(invoking:), which knows neither typed errors nor values that can't be copied.

#if canImport(ObjectiveC)
import CHeadgate
import ObjectiveC

/// Runs `body` inside an autorelease pool of its own, so that what Objective-C code leaves in it goes when `body`
/// returns and not when the thread ends.
package func withAutoreleasePool<Result: ~Copyable, Failure: Error>(
  _ body: () throws(Failure) -> sending Result
) throws(Failure) -> sending Result {
  let pool = objc_autoreleasePoolPush()
  defer { objc_autoreleasePoolPop(pool) }
  return try body()
}
#else
/// Runs `body`. Where Objective-C exists this puts an autorelease pool round it; here there is none.
package func withAutoreleasePool<Result: ~Copyable, Failure: Error>(
  _ body: () throws(Failure) -> sending Result
) throws(Failure) -> sending Result {
  try body()
}
#endif
