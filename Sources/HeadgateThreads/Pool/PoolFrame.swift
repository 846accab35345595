import CHeadgate

/// What a pool runs on the calling thread: one frame for a worker's life, one for each task that a submitter runs itself.
// Unchecked: a frame is reached only through its thread's own storage.
final class PoolFrame: @unchecked Sendable {
  unowned(unsafe) let core: PoolCore
  /// The thread's place in the pool; nil on a submitter's thread.
  unowned(unsafe) let worker: PoolWorker?
  /// The job whose body runs.
  unowned(unsafe) var job: PoolJob?
  /// The frame below, of another pool or of a submitter's thread.
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
    // `use` keeps it alive as long as it stands there.
    return Unmanaged<PoolFrame>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Runs `body` with this as the innermost frame.
  func use(_ body: () -> Void) {
    headgate_pool_frame_set(Unmanaged.passUnretained(self).toOpaque())
    body()
    headgate_pool_frame_set(outer.map { Unmanaged.passUnretained($0).toOpaque() })
  }

  /// The frame of a worker of `core` among this and those below it.
  func worker(of core: PoolCore) -> PoolWorker? {
    if self.core === core, let worker { return worker }
    return outer?.worker(of: core)
  }
}
