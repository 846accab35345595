// The queue without places: who puts and who takes meet, and the element goes from the one's hands into the other's.
// R. Cox and others, the unbuffered channel of Go (runtime/chan.go): one lock, a line of each kind, a direct hand-over.
//
// Rejected: the lock-free dual queue (W. Scherer, D. Lea, M. L. Scott, "Scalable Synchronous Queues", 2006; Java's
// SynchronousQueue). It wins with dozens of processors that all arrive at once; here two threads meet, one line of memory
// goes to and fro, and nodes of those who gave up would linger in it.

import Synchronization

/// A meeting place, whatever its elements are: the generic callers move elements in and out of the nodes.
// Unchecked: everything mutable is touched under `lock` only.
@usableFromInline final class Rendezvous: @unchecked Sendable {
  /// Whom a caller found, under the lock, which stays locked.
  @usableFromInline enum Meeting {
    case partner(UnsafeMutablePointer<HandNode>)
    case nobody
    case closed
  }

  private let memory: UnsafeMutableRawPointer
  private let lock: UnsafeMutablePointer<Lock>
  private let putPatience: SpinPatience
  private let takePatience: SpinPatience
  private let stride: Int
  private let alignment: Int
  private var putters = HandList()
  private var takers = HandList()
  private var wasClosed = false

  init(stride: Int, alignment: Int) {
    memory = .allocate(byteCount: 256, alignment: 128)
    lock = memory.initializeMemory(as: Lock.self, to: Lock())
    putPatience = SpinPatience(at: memory + 128)
    takePatience = SpinPatience(at: memory + 128 + 64)
    self.stride = stride
    self.alignment = alignment
  }

  deinit {
    putPatience.destroy()
    takePatience.destroy()
    lock.deinitialize(count: 1)
    memory.deallocate()
  }

  /// Whether nobody meets here any more.
  var isClosed: Bool {
    lock.pointee.lock()
    defer { lock.pointee.unlock() }
    return wasClosed
  }

  /// Locks, and looks for a taker who waits. The caller goes on with `handOver`, `waitInLine` or `unlock`.
  @usableFromInline
  func meetTaker() -> Meeting {
    lock.pointee.lock()
    if wasClosed { return .closed }
    if let node = takers.claimFirst() {
      if node.pointee.waiter != nil { putPatience.noteProcessor() }
      return .partner(node)
    }
    return .nobody
  }

  /// Locks, and looks for a putter who waits. The caller goes on with `handOver`, `waitInLine` or `unlock`.
  @usableFromInline
  func meetPutter() -> Meeting {
    lock.pointee.lock()
    // When it was closed, putters were sent away with their elements.
    if wasClosed { return .closed }
    if let node = putters.claimFirst() {
      if node.pointee.waiter != nil { takePatience.noteProcessor() }
      return .partner(node)
    }
    return .nobody
  }

  @usableFromInline
  func unlock() { lock.pointee.unlock() }

  /// Ends a meeting: the element was moved into the partner's node, or out of it.
  @usableFromInline
  func handOver(_ node: UnsafeMutablePointer<HandNode>) {
    let waiter = node.pointee.waiter
    // One who has no waiter yet may let go of the node at once after this.
    node.pointee.end(.done)
    lock.pointee.unlock()
    waiter?.wake()
  }

  /// A node for the caller's element, or for one that comes. The caller frees it.
  @usableFromInline
  func makeNode() -> UnsafeMutablePointer<HandNode> { HandNode.make(stride: stride, alignment: alignment) }

  /// After a meeting with nobody: lines up, unlocks, and waits for a partner.
  ///
  /// `done`: one came. `closed`: none will come. `waiting`: the wait is over. In the last two cases the node still has
  /// the element that it had.
  @usableFromInline
  func waitInLine(_ node: UnsafeMutablePointer<HandNode>, _ wait: inout QueueWait) -> HandNode.State {
    guard wait.begin() else {
      lock.pointee.unlock()
      return .waiting
    }
    line(up: node, wait.operation)
    lock.pointee.unlock()
    let (own, other) = wait.operation == .put ? (putPatience, takePatience) : (takePatience, putPatience)
    if own.spin(for: other, until: { node.pointee.outcome != .waiting }) { return node.pointee.outcome }
    let waiter = Waiter.ofThread()
    lock.pointee.lock()
    let mustWait = node.pointee.isListed && wait.willBlock()
    if mustWait { node.pointee.waiter = waiter }
    lock.pointee.unlock()
    if mustWait {
      HeadgateLog.note(.queue, "a thread waits for a partner")
      wait.note(waiter.wait(until: wait.deadline))
    }
    return leave(node, wait.operation)
  }

  /// The same for a task.
  @usableFromInline
  nonisolated(nonsending) func suspendInLine(
    _ node: UnsafeMutablePointer<HandNode>, _ wait: inout QueueWait
  ) async -> HandNode.State {
    guard wait.begin() else {
      unlock()
      return .waiting
    }
    let waiter = Waiter.ofTask()
    node.pointee.waiter = waiter
    line(up: node, wait.operation)
    unlock()
    wait.willSuspend()
    wait.note(await waiter.wait(until: wait.deadline))
    return leave(node, wait.operation)
  }

  /// Lines up one who takes from whichever of several queues is first. False: there is something to look at here.
  func lineUpTaker(_ node: UnsafeMutablePointer<HandNode>) -> Bool {
    lock.pointee.lock()
    defer { lock.pointee.unlock() }
    guard !wasClosed, putters.isEmpty else { return false }
    takers.append(node)
    return true
  }

  /// Takes a node out of its line, if it still stands there, and says how it ended.
  func leave(_ node: UnsafeMutablePointer<HandNode>, _ operation: QueueWait.Operation) -> HandNode.State {
    // One that was claimed may still be under way to its end: that happens under this lock too.
    lock.pointee.lock()
    defer { lock.pointee.unlock() }
    if operation == .put { putters.remove(node) } else { takers.remove(node) }
    return node.pointee.outcome
  }

  /// Sends all away who wait, and who come later.
  func close() {
    lock.pointee.lock()
    wasClosed = true
    var sleepers: [Waiter] = []
    while let node = putters.claimFirst() ?? takers.claimFirst() {
      if let waiter = node.pointee.waiter { sleepers.append(waiter) }
      node.pointee.end(.closed)
    }
    lock.pointee.unlock()
    for waiter in sleepers { waiter.wake() }
  }

  /// How many wait for a putter and for a taker.
  var waitingCounts: (takers: Int, putters: Int) {
    lock.pointee.lock()
    defer { lock.pointee.unlock() }
    return (takers.count, putters.count)
  }

  private func line(up node: UnsafeMutablePointer<HandNode>, _ operation: QueueWait.Operation) {
    if operation == .put { putters.append(node) } else { takers.append(node) }
  }
}
