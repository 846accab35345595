import CHeadgate
import Synchronization

extension LoopCore {
  /// The calling thread's loop, if it has one.
  static var ofThread: LoopCore? {
    // The thread holds one reference, from `settle` below until it is cleared or the thread exits.
    headgate_loop_get().map { Unmanaged<LoopCore>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Whether the calling thread is the loop's, even if the loop has stopped.
  var isAtHome: Bool { headgate_loop_get() == Unmanaged.passUnretained(self).toOpaque() }

  /// Makes this the loop of the calling thread, which must not have one.
  func settle() {
    let record = ThreadRecord.current
    self.record = record
    thread.store(record.id, ordering: .releasing)
    owner.store(headgate_thread_number(), ordering: .releasing)
    headgate_loop_set(Unmanaged.passRetained(self).toOpaque()) { pointer in
      guard let pointer else { return }
      // Balances `passRetained`: the thread exits.
      Unmanaged<LoopCore>.fromOpaque(pointer).takeRetainedValue().threadExits()
    }
    DumpRegistry.add(self)
  }

  /// The body of a loop's own thread.
  func live() {
    headgate_precise_timers()
    settle()
    _ = run(until: .distantFuture)
    finishIfDue()
    headgate_loop_clear()
    keeper = nil
    DumpRegistry.remove(self)
    // Balances `passRetained` in `settle`. The caller has its own reference.
    Unmanaged.passUnretained(self).release()
  }

  /// Called when a foreign thread exits, which ends its loop.
  private func threadExits() {
    // Jobs of tasks must not run on a thread that is being torn down.
    owner.store(0, ordering: .releasing)
    stop()
    keeper = nil
    DumpRegistry.remove(self)
  }
}
