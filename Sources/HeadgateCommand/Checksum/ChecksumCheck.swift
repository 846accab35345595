import HeadgateDispatch
import HeadgateThreads

/// Compares a body with its checksum before its file gets its name.
final class ChecksumCheck: Sendable {
  private let expected: Checksum
  private let found = Locked(ChecksumMismatch?.none)

  init(_ expected: Checksum) { self.expected = expected }

  /// The mismatch, if there was one.
  var mismatch: ChecksumMismatch? { found.withLock { $0 } }

  /// ``check(_:)`` as a closure.
  var function: @Sendable (String) throws(DispatchError) -> Void {
    { path throws(DispatchError) in try self.check(path) }
  }

  /// Checks a file. Blocks.
  func check(_ path: String) throws(DispatchError) {
    let sum: Checksum
    do throws(SystemError) { sum = try Checksum(ofFile: path) } catch {
      throw DispatchError(.fileFailed, phase: .writing, detail: "reading \(path): \(error)")
    }
    do throws(ChecksumMismatch) { try expected.check(sum) } catch {
      found.withLock { $0 = error }
      throw DispatchError(.badResponse, phase: .receiving, detail: "\(error)")
    }
  }
}
