import HeadgateDispatch
import HeadgateThreads

extension SerialLane {
  /// Runs blocking work on the lane's threads and suspends until it is done. The threads of Swift's pool must never
  /// block.
  func perform<Value: Sendable>(
    _ work: @escaping @Sendable () throws(SystemError) -> Value
  ) async throws(SystemError) -> Value {
    let result = await withContinuation {
      (continuation: CheckedContinuation<Result<Value, SystemError>, Never>) in
      run {
        do throws(SystemError) {
          continuation.resume(returning: .success(try work()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }
}
