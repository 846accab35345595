import HeadgateDispatch
import HeadgateThreads
import Synchronization

/// The bytes of bodies received so far, including those of failures, for the status line.
final class ByteCount: Sendable {
  private let bytes = Atomic(0)

  var value: Int { bytes.load(ordering: .relaxed) }

  func add(_ count: Int) { bytes.wrappingAdd(count, ordering: .relaxed) }

  /// Returns a listener that counts the progress of one download.
  func listener() -> TransferProgress.Listener {
    let told = LockedBox<Int64>(0)
    return { [self] progress in
      let more = told.withLock { told in
        defer { told = max(told, progress.bytes) }
        return max(0, progress.bytes - told)
      }
      add(Int(more))
    }
  }
}
