import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

/// A delegate that records its calls as text.
final class Listener: URLDispatchDelegate {
  typealias Reaction = @Sendable (String, URLDispatchOperation) -> Void

  let calls = Outcomes<String>()
  /// Bytes of the body.
  let bytes = LockedBox(0)
  /// The greatest number of concurrent calls.
  let crowd = LockedBox((now: 0, most: 0))
  private let reaction: Reaction
  private let gone: Gate?

  /// - Parameters:
  /// - gone: Opened when the listener has been released.
  /// - reaction: Performed inside a call, before the call is recorded.
  init(gone: Gate? = nil, _ reaction: @escaping Reaction = { _, _ in }) {
    self.gone = gone
    self.reaction = reaction
  }

  deinit { gone?.open() }

  var heard: [String] { calls.values }

  func dispatchOperation(_ operation: URLDispatchOperation, didReceiveResponse response: ResponseHead) {
    hear("response \(response.statusCode)", operation)
  }

  func dispatchOperation(_ operation: URLDispatchOperation, didReceiveData data: [UInt8]) {
    bytes.withLock { $0 += data.count }
    hear("data \(data.first ?? 0)", operation)
  }

  func dispatchOperationDidFinish(_ operation: URLDispatchOperation) { hear("finished", operation) }

  func dispatchOperation(_ operation: URLDispatchOperation, didFailWith error: DispatchError) {
    hear("failed \(error.code)", operation)
  }

  func dispatchOperationWasCancelled(_ operation: URLDispatchOperation) { hear("cancelled", operation) }

  private func hear(_ call: String, _ operation: URLDispatchOperation) {
    crowd.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
    reaction(call, operation)
    crowd.withLock { $0.now -= 1 }
    calls.add(call)
  }
}

/// Waits inside a call, on a thread.
func block(until gate: Gate) { #expect(gate.wait(until: .after(.seconds(60)))) }

/// Runs a blocking body on a separate thread, and returns or throws its result.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws(DispatchError) -> Value) async throws -> Result<
  Value, DispatchError
> {
  let result = LockedBox<Result<Value, DispatchError>?>(nil)
  let done = Gate()
  _ = try WorkerThread(name: "blocking") {
    let outcome: Result<Value, DispatchError>
    do throws(DispatchError) { outcome = .success(try body()) } catch { outcome = .failure(error) }
    result.withLock { $0 = outcome }
    done.open()
  }
  await done.waitRegardless()
  guard let outcome = result.withLock({ $0 }) else { throw Unexpected() }
  return outcome
}
