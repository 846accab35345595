import HTTPTypes
import HeadgateThreads

extension DispatchOperation {
  // A redirect's body is read to its end if it is short, so that the connection can be used again.
  private static let mostDrained = 65536

  /// Notes where a redirect leads, and says what is to become of its body. Nil: it is none that is followed.
  func redirected(_ head: ResponseHead) -> BodyFlow? {
    let (later, present, hops) = state.withLock { ($0.later, $0.present(self.request), $0.hop - $0.resends) }
    let request = later ?? self.request
    guard present.maxRedirects > 0, !present.redirects.followsNone, let location = head.location else { return nil }
    guard hops < present.maxRedirects else {
      let last = ShownText.withoutPassword(location)
      fail(DispatchError(.tooManyRedirects, phase: .awaitingHead, detail: "\(hops), the last to \(last)"))
      return .abort
    }
    var failure: DispatchError?
    // A policy may be a closure of the caller's.
    DeliveryFrame.mark(core.gateIdentity) {
      do throws(DispatchError) {
        let next = try Redirect.next(
          after: present, sentTo: request, status: head.statusCode, location: location,
          isFromPrivateAddress: head.isFromPrivateAddress)
        state.withLock { state in
          state.redirect = next
          state.redirects.append(FollowedRedirect(url: request.url, statusCode: head.statusCode))
        }
      } catch {
        failure = error
      }
    }
    guard let failure else { return redirectBodyFlow(head.declaredLength ?? 0) }
    fail(failure)
    return .abort
  }

  func redirectBodyFlow(_ bytes: Int) -> BodyFlow { bytes > Self.mostDrained ? .abort : .more }

  /// The old exchange is over: goes on under the same permit, or gives it back and waits for the other end-point's.
  func follow(_ next: DispatchRequest, at now: Deadline) {
    // One that is repeated at once goes out as it was prepared.
    if kind == .intercepted, !state.withLock({ $0.isToBeRepeated }) { return prepareHop(next, .redirect, at: now) }
    // Noted before the gate is told, since it may grant the new permit before `move` returns.
    switch state.withLock({ $0.follow(next, after: request, at: now) }) {
    case nil: conclude(state.withLock { $0.over(at: now) })
    case .same(let launch): startExchange(launch, at: now)
    case .other:
      dropTimeout()
      observeWaiting(next, .redirect, at: now)
      guard let ticket = state.withLock({ $0.ticket }) else { return }
      // Refused: the gate closes, or a verdict came since and has withdrawn the ticket, which still holds the permit.
      if case .refused = core.gate.move(ticket, to: next.endPoint) {
        fail(DispatchError(.shutDown))
        core.finish(ticket)
      }
    }
  }
}
