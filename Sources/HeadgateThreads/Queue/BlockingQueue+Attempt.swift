// The fast paths. A call first finds out whether it can proceed and only then moves its element. An element returned
// through an enum would be copied three times on its way.

import Synchronization

/// Whether an element can pass now.
@usableFromInline
enum Passage {
  /// Through the cursor. The lock is held until `finish`.
  case open
  /// To or from a partner's node, with capacity 0. The lock is held until `finish`.
  case partner(HandNode)
  case blocked
  case closed
}

extension BlockingQueue where Element: ~Copyable {
  // Not methods of the core: it is a struct of many words, which a call would copy.

  /// `blocked` with capacity 0.
  @inlinable
  func beginPut() -> Passage {
    if rendezvous != nil { return .blocked }
    core.puts.lock.pointee.lock()
    let isClosed = core.puts.state.pointee.isClosed
    if !isClosed, hasPlace() { return .open }
    core.puts.lock.pointee.unlock()
    return isClosed ? .closed : .blocked
  }

  /// `blocked` with capacity 0.
  @inlinable
  func beginTake() -> Passage {
    if rendezvous != nil { return .blocked }
    core.takes.lock.pointee.lock()
    if hasElement() { return .open }
    // Both ends are closed together, so the index just read is final.
    let isClosed = core.takes.state.pointee.isClosed
    core.takes.lock.pointee.unlock()
    return isClosed ? .closed : .blocked
  }

  /// Whether an element can be put at the cursor. Requires the put lock.
  @inlinable
  func hasPlace() -> Bool {
    let index = core.puts.state.pointee.index
    if index &- core.puts.state.pointee.otherIndex >= core.capacity {
      let otherIndex = core.takes.index.pointee.load(ordering: .acquiring)
      if index &- otherIndex >= core.capacity { return false }
      core.puts.state.pointee.otherIndex = otherIndex
      core.puts.lastBatch.pointee.store(otherIndex &+ core.capacity &- index, ordering: .relaxed)
    }
    if core.puts.state.pointee.cursor == core.puts.state.pointee.limit { core.turnPuts() }
    return true
  }

  /// Whether there is an element at the cursor. Requires the take lock.
  @inlinable
  func hasElement() -> Bool {
    let index = core.takes.state.pointee.index
    if index == core.takes.state.pointee.otherIndex {
      let otherIndex = core.puts.index.pointee.load(ordering: .acquiring)
      if index == otherIndex { return false }
      core.takes.state.pointee.otherIndex = otherIndex
      core.takes.lastBatch.pointee.store(otherIndex &- index, ordering: .relaxed)
    }
    if core.takes.state.pointee.cursor == core.takes.state.pointee.limit { core.turnTakes() }
    return true
  }

  /// Stores an element at the cursor, which must be free. Takers see it after `endPut`.
  @inlinable
  func store(_ element: consuming Element) {
    let slot = core.puts.state.pointee.cursor
    slot.initializeMemory(as: Element.self, to: element)
    core.puts.state.pointee.cursor = slot + MemoryLayout<Element>.stride
    core.puts.state.pointee.index &+= 1
  }

  /// Takes the element at the cursor. Putters see the free slot after `endTake`.
  @inlinable
  func fetch() -> Element {
    let slot = core.takes.state.pointee.cursor
    core.takes.state.pointee.cursor = slot + MemoryLayout<Element>.stride
    core.takes.state.pointee.index &+= 1
    return slot.assumingMemoryBound(to: Element.self).move()
  }

  /// Completes a put of `count` elements and unlocks.
  @inlinable
  func endPut(_ count: Int = 1) {
    core.puts.index.pointee.store(core.puts.state.pointee.index, ordering: .releasing)
    if core.puts.state.pointee.waiting.isEmpty {
      core.puts.lock.pointee.unlock()
    } else {
      core.puts.unlockAndWake(count)
    }
  }

  /// Completes a take of `count` elements and unlocks.
  @inlinable
  func endTake(_ count: Int = 1) {
    core.takes.index.pointee.store(core.takes.state.pointee.index, ordering: .releasing)
    if core.takes.state.pointee.waiting.isEmpty {
      core.takes.lock.pointee.unlock()
    } else {
      core.takes.unlockAndWake(count)
    }
  }

  /// Puts the element after `beginPut` returned `open`.
  @inlinable
  func finishPut(_ element: consuming Element) {
    store(element)
    endPut()
  }

  /// Takes the element after `beginTake` returned `open`.
  @inlinable
  func finishTake() -> Element {
    let element = fetch()
    endTake()
    return element
  }

  /// Hands the element to a partner.
  @inlinable @inline(never)
  func finishPut(_ element: consuming Element, to node: HandNode) {
    Hand.of(node).element = consume element
    rendezvous?.handOver(node)
  }

  /// Takes a partner's element.
  @inlinable @inline(never)
  func finishTake(from node: HandNode) -> Element {
    // A putter's node holds its element as long as it is listed.
    // swift-format-ignore: NeverForceUnwrap
    let element = Hand<Element>.of(node).element.take()!
    rendezvous?.handOver(node)
    return element
  }

  /// Waits until there may be an element to take, or space to put one. With capacity 0: until a partner finds the node,
  /// or until there is a partner to meet.
  @usableFromInline
  func block(_ wait: inout QueueWait, _ node: HandNode?) {
    if let rendezvous, let node {
      wait.block(at: HandLine(rendezvous: rendezvous, node: node, operation: wait.operation))
    } else {
      wait.block(at: CoreLine(core: core, isOfTakers: wait.operation == .take))
    }
  }

  /// The same for a task.
  @usableFromInline
  nonisolated(nonsending) func suspend(_ wait: inout QueueWait, _ node: HandNode?) async {
    if let rendezvous, let node {
      await wait.suspend(at: HandLine(rendezvous: rendezvous, node: node, operation: wait.operation))
    } else {
      await wait.suspend(at: CoreLine(core: core, isOfTakers: wait.operation == .take))
    }
  }
}

/// The result of a put that does not wait.
@usableFromInline
enum PutAttempt<Element: ~Copyable>: ~Copyable {
  case accepted
  case full(Element)
  case closed(Element)
}

/// The result of a take that does not wait.
@usableFromInline
enum TakeAttempt<Element: ~Copyable>: ~Copyable {
  case element(Element)
  case empty
  case closed
}

extension BlockingQueue where Element: ~Copyable {
  /// Puts without waiting.
  @inlinable
  func attempt(toPut element: consuming Element) -> PutAttempt<Element> {
    switch rendezvous?.meet(.put) ?? beginPut() {
    case .open: finishPut(element)
    case .partner(let node): finishPut(element, to: node)
    case .blocked: return .full(element)
    case .closed: return .closed(element)
    }
    return .accepted
  }

  /// Takes without waiting.
  @inlinable
  func attempt() -> TakeAttempt<Element> {
    switch rendezvous?.meet(.take) ?? beginTake() {
    case .open: .element(finishTake())
    case .partner(let node): .element(finishTake(from: node))
    case .blocked: .empty
    case .closed: .closed
    }
  }

}
