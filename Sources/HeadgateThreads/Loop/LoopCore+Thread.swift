import CHeadgate
import Synchronization

extension LoopCore {
  /// The calling thread's loop, if it has one.
  static var ofThread: LoopCore? {
    // The thread holds one reference, from `settle` below until it is taken away or the thread exits.
    headgate_loop_get().map { Unmanaged<LoopCore>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Whether the calling thread is the loop's, stopped or not.
  var isAtHome: Bool { headgate_loop_get() == Unmanaged.passUnretained(self).toOpaque() }

  /// Whether the calling thread must not block. A loop's own thread may: others that wait for it have deadlines, and
  /// circles are found.
  var mustNotBlock: Bool { !(ownsThread && isAtHome) && WorkerThread.mustNotBlock }

  /// Makes it the calling thread's loop. That has none.
  func settle() {
    record = .current
    owner.store(headgate_thread_number(), ordering: .releasing)
    headgate_loop_set(Unmanaged.passRetained(self).toOpaque()) { pointer in
      guard let pointer else { return }
      // Balances `passRetained`: the thread exits.
      Unmanaged<LoopCore>.fromOpaque(pointer).takeRetainedValue().threadExits()
    }
  }

  /// The whole life of a thread that does nothing else.
  func live() {
    headgate_precise_timers()
    settle()
    _ = run(.base, until: .distantFuture)
    finishIfDue()
    headgate_loop_clear()
    // Balances `passRetained` in `settle`; whoever called this holds a reference of his own.
    Unmanaged.passUnretained(self).release()
  }

  /// Somebody else's thread exits and takes its loop with it.
  private func threadExits() {
    // Jobs of tasks don't run on a thread that is half gone.
    owner.store(0, ordering: .releasing)
    stop()
    keeper = nil
  }
}
