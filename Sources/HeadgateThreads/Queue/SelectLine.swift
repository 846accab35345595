import Synchronization

/// One who stands in the lines of several queues at once, and is woken by the first that has something.
///
/// All places belong to one wait: the queue that claims it has claimed it for all. It is made, used and left by one
/// caller.
@usableFromInline
struct SelectLine {
  private let waiter: Waiter
  private var cores: [(core: QueueCore, standIn: Waiter)] = []
  private var nodes: [(rendezvous: Rendezvous, node: UnsafeMutablePointer<HandNode>, index: Int)] = []
  // Whether it stands in all lines so far: if not, one of the queues has something to look at already.
  private var isComplete = true
  // With no line at all (every queue was closed meanwhile) nobody would ever wake us.
  private var mayWait: Bool { isComplete && !(cores.isEmpty && nodes.isEmpty) }

  private init(_ waiter: Waiter) { self.waiter = waiter }

  @usableFromInline static func ofThread() -> SelectLine { SelectLine(.ofThread()) }
  @usableFromInline static func ofTask() -> SelectLine { SelectLine(.ofTask()) }

  /// Lines up at one queue more.
  @usableFromInline
  mutating func lineUp(at core: QueueCore, _ rendezvous: Rendezvous?, index: Int) {
    guard isComplete else { return }
    let standIn = waiter.standIn()
    if let rendezvous {
      let node = rendezvous.makeNode()
      node.pointee.waiter = standIn
      nodes.append((rendezvous, node, index))
      isComplete = rendezvous.lineUpTaker(node)
    } else {
      cores.append((core, standIn))
      isComplete = core.lineUpForElement(standIn, first: false)
    }
  }

  @usableFromInline
  func wait(_ wait: inout QueueWait) {
    guard mayWait else { return end() }
    wait.note(waiter.wait(until: wait.deadline))
  }

  @usableFromInline
  nonisolated(nonsending) func suspend(_ wait: inout QueueWait) async {
    guard mayWait else { return end() }
    wait.note(await waiter.wait(until: wait.deadline))
  }

  // If somebody was faster we have been woken, which is as good.
  private func end() { _ = waiter.claim(.cancelled) }

  /// Leaves all lines. A node with an element that a putter handed over, if there is one: the caller takes it and frees
  /// the node.
  @usableFromInline
  func leave() -> (node: UnsafeMutablePointer<HandNode>, index: Int)? {
    for (core, standIn) in cores { core.leaveLineForElement(standIn) }
    var found: (UnsafeMutablePointer<HandNode>, Int)?
    for (rendezvous, node, index) in nodes {
      if rendezvous.leave(node, .take) == .done { found = (node, index) } else { HandNode.free(node) }
    }
    return found
  }

  /// Gives the wake-up on, after the caller took what it found: it may have come from another queue.
  @usableFromInline
  func passOn() {
    guard waiter.outcome == .woken else { return }
    for (core, _) in cores { core.passOn() }
  }
}

private let turn = AtomicCell<UInt>(0)

/// Which of several queues is looked at first: another one each time, so that none is forgotten.
@usableFromInline
func firstToSelect(of count: Int) -> Int {
  guard count > 0 else { return 0 }
  // Drawn once a call, not once a look: else one that waits each time would draw every second number only.
  // Two threads may draw the same number, which hurts nobody and costs less than a shared counter.
  let number = turn.load(ordering: .relaxed)
  turn.store(number &+ 1, ordering: .relaxed)
  return Int(number % UInt(count))
}
