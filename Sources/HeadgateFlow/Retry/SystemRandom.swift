/// The system's random numbers, from a generator with a non-zero size.
///
/// The standard library's generator has size zero, so a variable of that type has no memory of its own. Passed `inout`,
/// it may have the address of anything, and the thread sanitizer has mistaken two such variables, on two threads, for
/// one.
package struct SystemRandom: RandomNumberGenerator {
  private var last: UInt64 = 0

  package init() {}

  package mutating func next() -> UInt64 {
    last = .random(in: .min ... .max)
    return last
  }
}
