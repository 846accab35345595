import HeadgateDispatch
import HeadgateThreads

/// Wakes a thread that blocks in `poll`. Once raised, it stays raised.
final class StopSignal: Sendable {
  /// Readable once the signal is raised.
  let descriptor: Int32
  private let writer: Int32
  private let raised = Locked(false)

  init() throws(SystemError) {
    (descriptor, writer) = try Descriptor.pipe()
  }

  deinit {
    Descriptor.close(descriptor)
    Descriptor.close(writer)
  }

  var isRaised: Bool { raised.withLock { $0 } }

  func raise() {
    let isFirst = raised.withLock { raised in
      defer { raised = true }
      return !raised
    }
    // An empty pipe always has room for one byte.
    if isFirst { try? Descriptor.write([1], to: writer) }
  }
}
