// The fast paths. A call first finds out whether it may pass, and only then moves its element: an element that has to
// travel through the answer is copied three times on its way.

import CHeadgate
import Synchronization

/// Whether an element may pass now. With `open` the lock is held until it has.
@usableFromInline
enum Passage {
  case open, blocked, closed
}

extension BlockingQueue where Element: ~Copyable {
  // These are not methods of the core: it is a struct of many words, which a call would copy.

  @inlinable
  func beginPut() -> Passage {
    core.putLock.pointee.lock()
    if core.puts.pointee.isClosed {
      core.putLock.pointee.unlock()
      return .closed
    }
    let index = core.puts.pointee.index
    if index &- core.puts.pointee.otherIndex >= core.capacity {
      let otherIndex = core.takeIndex.pointee.load(ordering: .acquiring)
      if index &- otherIndex >= core.capacity {
        core.putLock.pointee.unlock()
        return .blocked
      }
      core.puts.pointee.otherIndex = otherIndex
      core.lastPlaces.pointee.store(otherIndex &+ core.capacity &- index, ordering: .relaxed)
    }
    if core.puts.pointee.cursor == core.puts.pointee.limit { core.turnPuts() }
    return .open
  }

  @inlinable
  func beginTake() -> Passage {
    core.takeLock.pointee.lock()
    let index = core.takes.pointee.index
    if index == core.takes.pointee.otherIndex {
      let otherIndex = core.putIndex.pointee.load(ordering: .acquiring)
      if index == otherIndex {
        // Both ends are closed at one moment: what we have just read is the last index then.
        let isClosed = core.takes.pointee.isClosed
        core.takeLock.pointee.unlock()
        return isClosed ? .closed : .blocked
      }
      core.takes.pointee.otherIndex = otherIndex
      core.lastElements.pointee.store(otherIndex &- index, ordering: .relaxed)
    }
    if core.takes.pointee.cursor == core.takes.pointee.limit { core.turnTakes() }
    return .open
  }

  /// After `open`: puts the element into its slot.
  @inlinable
  func endPut(_ element: consuming Element) {
    let slot = core.puts.pointee.cursor
    // The line was last read by who takes, and has to come over: four lines ahead is early enough.
    headgate_prepare_to_write(slot + 256)
    slot.initializeMemory(as: Element.self, to: element)
    core.puts.pointee.cursor = slot + MemoryLayout<Element>.stride
    let index = core.puts.pointee.index &+ 1
    core.puts.pointee.index = index
    core.putIndex.pointee.store(index, ordering: .releasing)
    if core.puts.pointee.hasWaiters { core.unlockPutsAndWake() } else { core.putLock.pointee.unlock() }
  }

  /// After `open`: takes the element out of its slot.
  @inlinable
  func endTake() -> Element {
    let slot = core.takes.pointee.cursor
    let element = slot.assumingMemoryBound(to: Element.self).move()
    core.takes.pointee.cursor = slot + MemoryLayout<Element>.stride
    let index = core.takes.pointee.index &+ 1
    core.takes.pointee.index = index
    core.takeIndex.pointee.store(index, ordering: .releasing)
    if core.takes.pointee.hasWaiters { core.unlockTakesAndWake() } else { core.takeLock.pointee.unlock() }
    return element
  }
}

/// What became of a put that doesn't wait.
@usableFromInline
enum PutAttempt<Element: ~Copyable>: ~Copyable {
  case accepted
  case full(Element)
  case closed(Element)
}

/// What became of a take that doesn't wait.
@usableFromInline
enum TakeAttempt<Element: ~Copyable>: ~Copyable {
  case element(Element)
  case empty
  case closed
}

extension BlockingQueue where Element: ~Copyable {
  /// A put that doesn't wait, whatever the queue is.
  @inlinable
  func attempt(toPut element: consuming Element) -> PutAttempt<Element> {
    if let rendezvous { return attemptPut(element, at: rendezvous) }
    switch beginPut() {
    case .open:
      endPut(element)
      return .accepted
    case .blocked: return .full(element)
    case .closed: return .closed(element)
    }
  }

  /// A take that doesn't wait, whatever the queue is.
  @inlinable
  func attempt() -> TakeAttempt<Element> {
    if let rendezvous { return attemptTake(at: rendezvous) }
    switch beginTake() {
    case .open: return .element(endTake())
    case .blocked: return .empty
    case .closed: return .closed
    }
  }
}
