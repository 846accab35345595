import HeadgateThreads
import Synchronization

/// A thread that is blocked until an operation has ended, and the executors that depend on it.
///
/// Tasks started for the operation find it in a task-local value. So a wait for an answer that only this thread could
/// deliver is refused, wherever in the flow it occurs.
final class BlockedThread: Sendable {
  @TaskLocal static var current: BlockedThread?

  private let duties = ThreadDuties.current
  // A task may outlive the wait that it was started in.
  private let isOver = AtomicCell<Bool>(false)

  /// Whether the place cannot make progress while the thread is blocked.
  func isNeeded(by target: Delivery) -> Bool { !isOver.load(ordering: .relaxed) && target.needs(duties) }

  /// Called when the thread resumes.
  func end() { isOver.store(true, ordering: .relaxed) }
}
