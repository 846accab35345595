// Taking from whichever of several queues has an element first: Go's select over receives, Occam's ALT.

/// An element, and where it came from.
@frozen
public struct Selection<Element: ~Copyable>: ~Copyable {
  /// The position, in the array that was given, of the queue that had the element.
  public var index: Int
  /// The element.
  public var element: Element

  @inlinable
  init(index: Int, element: consuming Element) {
    self.index = index
    self.element = element
  }
}

extension Selection: Sendable where Element: ~Copyable & Sendable {}

extension BlockingQueue where Element: ~Copyable {
  /// Takes one element from whichever of the queues has one first; waits until the deadline while none has.
  ///
  /// The queue that is looked at first changes with each call, so that no queue is starved by one that always has
  /// elements. A queue that is closed and empty is passed over. Throws ``WaitError/Code/timedOut``,
  /// ``WaitError/Code/cancelled``, ``WaitError/Code/closed`` once all of them are closed and empty (or none was given),
  /// or ``WaitError/Code/onCooperativeThread`` where the thread must not be blocked. Nothing is taken from the others.
  /// O(n) in the number of queues.
  @available(*, noasync, message: "use the form with await")
  @inlinable
  public static func select(
    from queues: [BlockingQueue<Element>], until deadline: Deadline = .distantFuture
  ) throws(WaitError) -> sending Selection<Element> {
    var wait = QueueWait(.select, until: deadline)
    let first = firstToSelect(of: queues.count)
    var line: SelectLine?
    while true {
      let found = try attemptSelect(from: queues, startingAt: first, wait, after: line)
      if let selection = found { return selection }
      guard wait.mayBlock() else { continue }
      var next = SelectLine.ofThread()
      for (index, queue) in queues.enumerated() where queue.isSelectable {
        next.lineUp(at: queue.core, queue.rendezvous, index: index)
      }
      next.wait(&wait)
      if let (node, index) = next.leave() { return endSelect(node, index) }
      line = next
    }
  }

  /// Takes one element from whichever of the queues has one first; suspends until the deadline while none has.
  ///
  /// As the form that blocks; ``WaitError/Code/cancelled`` comes when the task is cancelled.
  @inlinable
  nonisolated(nonsending) public static func select(
    from queues: [BlockingQueue<Element>], until deadline: Deadline = .distantFuture
  ) async throws(WaitError) -> sending Selection<Element> {
    var wait = QueueWait(.select, until: deadline)
    let first = firstToSelect(of: queues.count)
    var line: SelectLine?
    while true {
      let found = try attemptSelect(from: queues, startingAt: first, wait, after: line)
      if let selection = found { return selection }
      guard wait.maySuspend() else { continue }
      var next = SelectLine.ofTask()
      for (index, queue) in queues.enumerated() where queue.isSelectable {
        next.lineUp(at: queue.core, queue.rendezvous, index: index)
      }
      await next.suspend(&wait)
      if let (node, index) = next.leave() { return endSelect(node, index) }
      line = next
    }
  }

  /// Nil: none has an element, and there is something to wait for.
  @inlinable
  static func attemptSelect(
    from queues: [BlockingQueue<Element>], startingAt first: Int, _ wait: QueueWait, after line: SelectLine?
  ) throws(WaitError) -> Selection<Element>? {
    // Whatever happens: the wake-up that brought us here was for one who takes from that queue.
    defer { line?.passOn() }
    var isOpen = false
    for step in 0..<queues.count {
      let index = (first + step) % queues.count
      switch queues[index].attempt() {
      case .element(let element): return Selection(index: index, element: element)
      case .empty: isOpen = true
      case .closed: continue
      }
    }
    guard isOpen else { throw wait.error(at: describe(queues), .closed) }
    if wait.isOver { throw wait.error(at: describe(queues)) }
    return nil
  }

  @inlinable
  static func endSelect(_ node: UnsafeMutablePointer<HandNode>, _ index: Int) -> Selection<Element> {
    defer { HandNode.free(node) }
    return Selection(index: index, element: node.pointee.element.assumingMemoryBound(to: Element.self).move())
  }

  /// Whether an element can come out of it, now or later.
  @usableFromInline var isSelectable: Bool {
    // In this order: once the queue is closed nothing is put any more, so that what `isEmpty` says then holds. The other
    // way round, an element could be put and the queue closed between the two, and the element would be overlooked.
    !isClosed || !isEmpty
  }

  @usableFromInline
  static func describe(_ queues: [BlockingQueue<Element>]) -> String {
    queues.map { $0.name }.joined(separator: "\", \"")
  }
}
