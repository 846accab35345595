import HTTPTypes
import HeadgateDispatch
import HeadgateThreads

/// Adds the token of a command to requests for some hosts, over https only. The command runs before the first of them,
/// and after a 401: one at a time. After a failure it does not run again, so that no request waits for it.
final class CommandTokens: RequestInterceptor {
  /// Marks requests for the hosts, and is never sent. A redirect to another origin drops it, as it does all fields
  /// that may be secret; so no redirect leads to a request with a token, even if it leads back to the host.
  static let mark = HTTPField.Name("Headgate-Token-Is-Meant")

  private let tokens: BearerTokens
  /// Why the command has failed. From then on no request is sent, not even with the token that was good before.
  private let failure: LockedBox<TokenProblem?>

  /// - Parameter run: Runs the command.
  init(for hosts: TokenHosts, run: @escaping @Sendable () async throws -> String) {
    let failure = LockedBox(TokenProblem?.none)
    self.failure = failure
    tokens = BearerTokens(where: hosts.include) { _ in
      if let failure = failure.withLock({ $0 }) { throw failure }
      do {
        return BearerToken(try await run())
      } catch let problem as TokenProblem {
        // Cancelled, because no request waits for it any more.
        if !Task.isCancelled { failure.withLock { $0 = problem } }
        throw problem
      }
    }
  }

  convenience init(for hosts: TokenHosts, _ command: TokenCommand) {
    let lane = SerialLane(on: LaneCrew(name: "headgate-token", size: 1))
    self.init(for: hosts) {
      let isCancelled = Locked(false)
      return try await withTaskCancellationHandler {
        try await lane.perform { () throws(TokenProblem) in try command.run { !isCancelled.withLock { $0 } } }
      } onCancel: {
        isCancelled.withLock { $0 = true }
      }
    }
  }

  func prepare(_ request: inout DispatchRequest, _ interception: Interception) async throws {
    guard let mark = Self.mark, request.headerFields[mark] != nil else { return }
    request.headerFields[mark] = nil
    if let failure = failure.withLock({ $0 }) { throw failure }
    try await tokens.prepare(&request, interception)
  }

  func isOutdated(_ request: DispatchRequest, _ interception: Interception) -> Bool {
    isMeant(interception) && (failure.withLock { $0 } != nil || tokens.isOutdated(request, interception))
  }

  func isInterested(in response: InterceptedResponse, _ interception: Interception) -> Bool {
    isMeant(interception) && tokens.isInterested(in: response, interception)
  }

  func review(_ response: InterceptedResponse, _ interception: Interception) async throws -> InterceptorAnswer {
    try await tokens.review(response, interception)
  }

  private func isMeant(_ interception: Interception) -> Bool {
    Self.mark.map { interception.unprepared.headerFields[$0] != nil } ?? false
  }
}

/// The hosts whose requests get the token.
struct TokenHosts: Sendable {
  private let patterns: [HostPattern: Bool]

  init(_ patterns: [HostPattern]) { self.patterns = Dictionary(patterns.map { ($0, true) }) { $1 } }

  /// Whether a request gets the token.
  func include(_ request: DispatchRequest) -> Bool {
    request.isSecure && !request.endPoint.isUnixSocket
      && HostPattern.mostSpecific(in: patterns, for: request.endPoint) == true
  }
}
