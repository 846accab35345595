import CHeadgate
import Synchronization

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
  @inlinable @inline(__always)
  func attempt(toPut element: consuming Element) -> PutAttempt<Element> {
    if let rendezvous { return attemptPut(element, at: rendezvous) }
    return attemptPut(element)
  }

  /// A take that doesn't wait, whatever the queue is.
  @inlinable @inline(__always)
  func attempt() -> TakeAttempt<Element> {
    if let rendezvous { return attemptTake(at: rendezvous) }
    return attemptTake()
  }

  @inlinable @inline(__always)
  func attemptPut(_ element: consuming Element) -> PutAttempt<Element> {
    let puts = core.puts
    core.putLock.lock()
    if puts.pointee.isClosed {
      core.putLock.unlock()
      return .closed(element)
    }
    let index = puts.pointee.index
    if index &- puts.pointee.otherIndex >= core.capacity {
      let otherIndex = core.takeIndex.pointee.load(ordering: .acquiring)
      if index &- otherIndex >= core.capacity {
        core.putLock.unlock()
        return .full(element)
      }
      puts.pointee.otherIndex = otherIndex
      core.lastPlaces.pointee.store(otherIndex &+ core.capacity &- index, ordering: .relaxed)
    }
    if puts.pointee.cursor == puts.pointee.limit { core.turnPuts() }
    let slot = puts.pointee.cursor
    headgate_prepare_to_write(slot + 256)
    slot.initializeMemory(as: Element.self, to: element)
    puts.pointee.cursor = slot + MemoryLayout<Element>.stride
    puts.pointee.index = index &+ 1
    core.putIndex.pointee.store(index &+ 1, ordering: .releasing)
    if puts.pointee.hasWaiters { core.unlockPutsAndWake() } else { core.putLock.unlock() }
    return .accepted
  }

  @inlinable @inline(__always)
  func attemptTake() -> TakeAttempt<Element> {
    let takes = core.takes
    core.takeLock.lock()
    let index = takes.pointee.index
    if index == takes.pointee.otherIndex {
      let otherIndex = core.putIndex.pointee.load(ordering: .acquiring)
      if index == otherIndex {
        // Both ends are closed at one moment: what we have just read is the last index then.
        let isClosed = takes.pointee.isClosed
        core.takeLock.unlock()
        return isClosed ? .closed : .empty
      }
      takes.pointee.otherIndex = otherIndex
      core.lastElements.pointee.store(otherIndex &- index, ordering: .relaxed)
    }
    if takes.pointee.cursor == takes.pointee.limit { core.turnTakes() }
    let slot = takes.pointee.cursor
    let element = slot.assumingMemoryBound(to: Element.self).move()
    takes.pointee.cursor = slot + MemoryLayout<Element>.stride
    takes.pointee.index = index &+ 1
    core.takeIndex.pointee.store(index &+ 1, ordering: .releasing)
    if takes.pointee.hasWaiters { core.unlockTakesAndWake() } else { core.takeLock.unlock() }
    return .element(element)
  }
}
