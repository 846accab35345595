import HeadgateDispatch
import HeadgateThreads

extension SerialLane {
  /// Runs blocking work on the lane's threads and suspends until it is done. The threads of Swift's pool must never
  /// block.
  func perform<Value: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = await withContinuation { (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
      run {
        do throws(Failure) {
          continuation.resume(returning: .success(try work()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }
}
