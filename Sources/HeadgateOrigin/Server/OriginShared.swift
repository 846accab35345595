import HeadgateThreads
import Synchronization

/// What the thread of an origin and its callers have in common.
final class OriginShared: Sendable {
  /// Somebody who waits for the counts of an end-point to fulfil a condition.
  struct Waiter: Sendable {
    let number: UInt64
    let endPoint: Int
    let deadline: Deadline
    let condition: @Sendable (OriginCounts) -> Bool
    let continuation: CheckedContinuation<Bool, Never>
  }

  /// What callers ask of the thread.
  enum Command: Sendable {
    case wait(Waiter)
    case cancelWait(UInt64)
    /// Lets go of what has been held since before this epoch.
    case release(epoch: UInt64)
    /// Looks at the conditions again: the counts were changed from outside.
    case recount
    case stop
  }

  private struct Inbox {
    var commands: [Command] = []
    var hasEnded = false
  }

  let poller: Poller
  private let inbox = Locked(Inbox())
  private let board: Locked<[OriginCounts]>
  private let heldScript: Locked<OriginScript>
  private let epoch = Atomic<UInt64>(0)
  private let waiterCount = Atomic<UInt64>(0)
  private let thread = Atomic<UInt>(0)

  init(poller: Poller, endPoints: Int, script: OriginScript) {
    self.poller = poller
    board = Locked(Array(repeating: OriginCounts(), count: endPoints))
    heldScript = Locked(script)
  }

  /// Read for each request, so that one that is sent after the setter has returned meets the new script.
  var script: OriginScript {
    get { heldScript.withLock { $0 } }
    set {
      let old = heldScript.withLock { script in
        let old = script
        script = newValue
        return old
      }
      // Let go of outside the lock: the hook may hold anything.
      _ = consume old
    }
  }

  /// The number of `release` calls so far.
  var releaseEpoch: UInt64 { epoch.load(ordering: .acquiring) }

  func nextRelease() -> UInt64 { epoch.add(1, ordering: .acquiringAndReleasing).newValue }
  func nextWaiter() -> UInt64 { waiterCount.add(1, ordering: .relaxed).newValue }

  func counts(_ endPoint: Int) -> OriginCounts {
    board.withLock { $0.indices.contains(endPoint) ? $0[endPoint] : OriginCounts() }
  }

  /// Changes the counts of an end-point and returns what they are then.
  func change(_ endPoint: Int, _ body: (inout OriginCounts) -> Void) -> OriginCounts {
    board.withLock { board in
      body(&board[endPoint])
      return board[endPoint]
    }
  }

  func resetCounts() { board.withLock { board in board = board.map { $0.restarted() } } }

  /// Hands a command to the thread. False when the thread has ended and will take no more.
  @discardableResult
  func post(_ command: Command) -> Bool {
    let posted = inbox.withLock { inbox in
      if !inbox.hasEnded { inbox.commands.append(command) }
      return !inbox.hasEnded
    }
    if posted { poller.wake() }
    return posted
  }

  /// Takes the commands that have come; the last time, closes the inbox.
  func takeCommands(last isLast: Bool = false) -> [Command] {
    inbox.withLock { inbox in
      let commands = inbox.commands
      inbox.commands = []
      if isLast { inbox.hasEnded = true }
      return commands
    }
  }

  func noteThread() { thread.store(Socket.currentThread, ordering: .releasing) }
  var isOnThread: Bool { thread.load(ordering: .acquiring) == Socket.currentThread }
}
