import HeadgateThreads
import Synchronization

/// The state shared by an origin's thread and its callers.
final class OriginShared: Sendable {
  /// A caller that waits for a condition on the counts of an end-point.
  struct Waiter: Sendable {
    let number: UInt64
    let endPoint: Int
    let deadline: Deadline
    let condition: @Sendable (OriginCounts) -> Bool
    let continuation: CheckedContinuation<Bool, Never>
  }

  /// Commands to the thread.
  enum Command: Sendable {
    case wait(Waiter)
    case cancelWait(UInt64)
    /// Releases requests held since before this epoch.
    case release(epoch: UInt64)
    /// Checks the conditions again after a change of the counts from outside.
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

  /// Read for each request, so that a request sent after the setter has returned gets the new script.
  var script: OriginScript {
    get { heldScript.withLock { $0 } }
    set {
      let old = heldScript.withLock { script in
        let old = script
        script = newValue
        return old
      }
      // Released outside the lock, because the hook may hold arbitrary objects.
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

  /// Changes the counts of an end-point and returns the new ones.
  func change(_ endPoint: Int, _ body: (inout OriginCounts) -> Void) -> OriginCounts {
    board.withLock { board in
      body(&board[endPoint])
      return board[endPoint]
    }
  }

  func resetCounts() { board.withLock { board in board = board.map { $0.restarted() } } }

  /// Sends a command to the thread. Returns false if the thread has ended.
  @discardableResult
  func post(_ command: Command) -> Bool {
    let posted = inbox.withLock { inbox in
      if !inbox.hasEnded { inbox.commands.append(command) }
      return !inbox.hasEnded
    }
    if posted { poller.wake() }
    return posted
  }

  /// Takes the pending commands; the last time, closes the inbox.
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
