import Synchronization

extension BlockingQueue where Element: ~Copyable {
  /// Takes out what is there at once, in order, at most so many elements, and gives each to `body`. Says how many.
  ///
  /// What is put meanwhile is left, so that it ends however fast others put. `body` is called with no lock held and may
  /// use the queue; what it throws ends the call, and elements that it has not got stay in the queue. With a capacity of
  /// 0, those who wait to put hand their elements over.
  @inlinable
  public func drain<Failure: Error>(
    max limit: Int = .max, _ body: (consuming sending Element) throws(Failure) -> Void
  ) throws(Failure) -> Int {
    var count = 0
    let most = min(limit, elementsAtHand)
    while count < most, case .element(let element) = attempt() {
      count += 1
      try body(element)
    }
    return count
  }

  /// What can be taken at once: with a capacity of 0, the elements of those who wait to put.
  @usableFromInline var elementsAtHand: Int { rendezvous?.waitingCounts.putters ?? core.count }
}
