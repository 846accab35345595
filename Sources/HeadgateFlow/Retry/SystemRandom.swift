/// The system's random numbers from a generator that takes up memory.
///
/// The standard library's has no size, so a variable of it has no place of its own: passed `inout` it may bear the address
/// of anything, and the thread sanitizer has taken two of them on two threads for one.
package struct SystemRandom: RandomNumberGenerator {
  private var last: UInt64 = 0

  package init() {}

  package mutating func next() -> UInt64 {
    last = .random(in: .min ... .max)
    return last
  }
}
