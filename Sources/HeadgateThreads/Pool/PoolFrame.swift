import CHeadgate

/// A pool's activity on one thread: one frame for a worker's life, and one for each task that a submitter runs itself.
// Unchecked: a frame is reachable only through its thread's local storage.
final class PoolFrame: @unchecked Sendable {
  unowned(unsafe) let core: PoolCore
  /// The thread's worker; nil on a submitter's thread.
  unowned(unsafe) let worker: PoolWorker?
  /// The job whose body is running.
  unowned(unsafe) var job: PoolJob?
  /// The enclosing frame, of another pool or of a submitter's thread.
  let outer: PoolFrame?
  let depth: Int

  init(_ core: PoolCore, worker: PoolWorker?) {
    self.core = core
    self.worker = worker
    outer = PoolFrame.current
    job = outer?.job
    depth = (outer?.depth ?? 0) + 1
  }

  /// The innermost frame of the calling thread.
  static var current: PoolFrame? {
    guard let pointer = headgate_pool_frame_get() else { return nil }
    // `use` keeps the frame alive while it is current.
    return Unmanaged<PoolFrame>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Runs `body` with this as the innermost frame.
  func use(_ body: () -> Void) {
    headgate_pool_frame_set(Unmanaged.passUnretained(self).toOpaque())
    body()
    headgate_pool_frame_set(outer.map { Unmanaged.passUnretained($0).toOpaque() })
  }

  /// The worker of `core` in this frame or an enclosing one.
  func worker(of core: PoolCore) -> PoolWorker? {
    if self.core === core, let worker { return worker }
    return outer?.worker(of: core)
  }
}
