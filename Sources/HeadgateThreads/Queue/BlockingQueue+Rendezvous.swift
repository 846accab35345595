// A queue with a capacity of 0: the element goes from the putter's hands into the taker's.

extension BlockingQueue where Element: ~Copyable {
  @inlinable
  func attemptPut(_ element: consuming Element, at rendezvous: Rendezvous) -> PutAttempt<Element> {
    switch rendezvous.meetTaker() {
    case .partner(let node):
      node.pointee.element.initializeMemory(as: Element.self, to: element)
      rendezvous.handOver(node)
      return .accepted
    case .nobody:
      rendezvous.unlock()
      return .full(element)
    case .closed:
      rendezvous.unlock()
      return .closed(element)
    }
  }

  @inlinable
  func attemptTake(at rendezvous: Rendezvous) -> TakeAttempt<Element> {
    switch rendezvous.meetPutter() {
    case .partner(let node):
      let element = node.pointee.element.assumingMemoryBound(to: Element.self).move()
      rendezvous.handOver(node)
      return .element(element)
    case .nobody:
      rendezvous.unlock()
      return .empty
    case .closed:
      rendezvous.unlock()
      return .closed
    }
  }

  @inlinable @inline(never)
  func put(_ element: consuming Element, at rendezvous: Rendezvous, until deadline: Deadline) -> PutResult<Element> {
    var wait = QueueWait(.put, until: deadline)
    switch rendezvous.meetTaker() {
    case .partner(let node):
      node.pointee.element.initializeMemory(as: Element.self, to: element)
      rendezvous.handOver(node)
      return .accepted
    case .closed:
      rendezvous.unlock()
      return refuse(element, wait, .closed)
    case .nobody:
      let node = rendezvous.makeNode()
      node.pointee.element.initializeMemory(as: Element.self, to: element)
      let state = rendezvous.waitInLine(node, &wait)
      return endPut(node, wait, state)
    }
  }

  @inlinable @inline(never)
  func take(at rendezvous: Rendezvous, until deadline: Deadline) throws(WaitError) -> Element {
    var wait = QueueWait(.take, until: deadline)
    switch rendezvous.meetPutter() {
    case .partner(let node):
      let element = node.pointee.element.assumingMemoryBound(to: Element.self).move()
      rendezvous.handOver(node)
      return element
    case .closed:
      rendezvous.unlock()
      throw wait.error(at: name, .closed)
    case .nobody:
      let node = rendezvous.makeNode()
      let state = rendezvous.waitInLine(node, &wait)
      return try endTake(node, wait, state)
    }
  }

  @usableFromInline
  nonisolated(nonsending) func put(
    _ element: consuming Element, at rendezvous: Rendezvous, _ wait: inout QueueWait
  ) async -> PutResult<Element> {
    switch rendezvous.meetTaker() {
    case .partner(let node):
      node.pointee.element.initializeMemory(as: Element.self, to: element)
      rendezvous.handOver(node)
      return .accepted
    case .closed:
      rendezvous.unlock()
      return refuse(element, wait, .closed)
    case .nobody:
      let node = rendezvous.makeNode()
      node.pointee.element.initializeMemory(as: Element.self, to: element)
      let state = await rendezvous.suspendInLine(node, &wait)
      return endPut(node, wait, state)
    }
  }

  @usableFromInline
  nonisolated(nonsending) func take(
    at rendezvous: Rendezvous, _ wait: inout QueueWait
  ) async throws(WaitError) -> Element {
    switch rendezvous.meetPutter() {
    case .partner(let node):
      let element = node.pointee.element.assumingMemoryBound(to: Element.self).move()
      rendezvous.handOver(node)
      return element
    case .closed:
      rendezvous.unlock()
      throw wait.error(at: name, .closed)
    case .nobody:
      let node = rendezvous.makeNode()
      let state = await rendezvous.suspendInLine(node, &wait)
      return try endTake(node, wait, state)
    }
  }

  @inlinable
  func endPut(
    _ node: UnsafeMutablePointer<HandNode>, _ wait: QueueWait, _ state: HandNode.State
  ) -> PutResult<Element> {
    defer { HandNode.free(node) }
    if state == .done { return .accepted }
    let element = node.pointee.element.assumingMemoryBound(to: Element.self).move()
    return refuse(element, wait, state == .closed ? .closed : nil)
  }

  @inlinable
  func endTake(
    _ node: UnsafeMutablePointer<HandNode>, _ wait: QueueWait, _ state: HandNode.State
  ) throws(WaitError) -> Element {
    defer { HandNode.free(node) }
    if state == .done { return node.pointee.element.assumingMemoryBound(to: Element.self).move() }
    throw wait.error(at: name, state == .closed ? .closed : nil)
  }
}
