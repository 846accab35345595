import HeadgateThreads

/// Answers a request for a shared permit once. A permit that comes after the answer is returned.
package final class PermitAnswer: Sendable {
  private let completion: Locked<(@Sendable (Result<any SharedPermit, DispatchError>) -> Void)?>

  package init(_ completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void) {
    self.completion = Locked(completion)
  }

  package func give(_ result: Result<any SharedPermit, DispatchError>) {
    let taken = completion.withLock { $0.take() }
    if let taken {
      taken(result)
    } else if case .success(let permit) = result {
      permit.release()
    }
  }
}
