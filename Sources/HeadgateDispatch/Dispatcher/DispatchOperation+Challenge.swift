import HTTPTypes
import HeadgateThreads

extension DispatchOperation {
  /// The consumer's answer to a response that asked for a credential. Does nothing for a request that was decided
  /// meanwhile.
  func answer(_ consequence: AuthenticationAnswer.Consequence) {
    let now = core.now
    switch consequence {
    case .cancel: cancel()
    case .proceed:
      let next = state.withLock { $0.proceed(of: request, at: now) }
      if let timeout = next.timeout { drop(timeout) }
      if let ending = next.ending { conclude(ending) }
    case .sendAgain(let name, let value):
      var next = state.withLock { $0.present(request) }
      if let body = next.body, !body.isReplayable {
        return fail(DispatchError(.bodyNotReplayable, phase: .awaitingHead, detail: "for a credential"))
      }
      next.headerFields[name] = value
      switch state.withLock({ [next] in $0.sendAgain(next, after: request, at: now) }) {
      case .decided: break
      case .starts(let launch): startExchange(launch, at: now)
      case .prepares: prepareHop(next, .credential, at: now)
      // The rest of the response that asked is passed over, as a redirect's.
      case .drains: resume()
      }
    }
  }
}
