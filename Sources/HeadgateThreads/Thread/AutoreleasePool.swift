// An autorelease pool around the closures that run on this library's threads: a thread's body, each turn of a loop,
// each task of a pool and each timer call. The two runtime calls are those that compilers emit for @autoreleasepool
// ("Objective-C Automatic Reference Counting", section 7, in Clang's documentation).
//
// Rejected: the overlay's autoreleasepool(invoking:), which supports neither typed errors nor noncopyable values.

#if canImport(ObjectiveC)
import CHeadgate
import ObjectiveC
#endif

/// Runs `body`: on systems with Objective-C inside its own autorelease pool, so that autoreleased objects are released
/// when `body` returns and not when the thread ends.
package func withAutoreleasePool<Returned: ~Copyable, Failure: Error>(
  _ body: () throws(Failure) -> sending Returned
) throws(Failure) -> sending Returned {
  #if canImport(ObjectiveC)
  let pool = objc_autoreleasePoolPush()
  defer { objc_autoreleasePoolPop(pool) }
  #endif
  return try body()
}
