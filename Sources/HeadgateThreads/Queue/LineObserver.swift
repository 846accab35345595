import Synchronization

/// Tells tests that a call has joined or left a queue's wait list. Without it tests would have to poll.
package enum LineObserver {
  private final class Call: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  // Not an AtomicCell: the explorer need not see it, and it would only add steps.
  private static let call = Atomic<UInt>(0)

  /// Calls `body`, without a lock, after each change, for the rest of the process.
  package static func install(_ body: @escaping @Sendable () -> Void) {
    call.store(UInt(bitPattern: Unmanaged.passRetained(Call(body)).toOpaque()), ordering: .releasing)
  }

  static func note() {
    guard let call = UnsafeRawPointer(bitPattern: call.load(ordering: .acquiring)) else { return }
    // `install` leaked a reference on purpose, so the object lives forever.
    Unmanaged<Call>.fromOpaque(call).takeUnretainedValue().body()
  }
}
