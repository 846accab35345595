import HeadgateDispatch
import Testing

/// Values that stand for a choice print as in a program, and never with a secret.
@Suite struct DescriptionTests {
  @Test(
    "a choice prints its name",
    arguments: [
      ("\(ShutdownMode.drain) \(ShutdownMode.graceful) \(ShutdownMode.now)", "drain graceful now"),
      (
        "\(OverflowPolicy.refuse) \(OverflowPolicy.wait) \(OverflowPolicy.dropOldest) \(OverflowPolicy.dropLowest)",
        "refuse wait dropOldest dropLowest"
      ),
      (
        "\(RedirectPolicy.none) \(RedirectPolicy.all) \(RedirectPolicy.custom { _ in true })",
        "none all custom"
      ),
      ("\(RedirectPolicy.noDowngrade)", "noDowngrade"),
      ("\(RedirectPolicy.sameOrigin.refusingPrivateAddresses)", "sameOrigin.refusingPrivateAddresses"),
      ("\(PermitOutcome.answered) \(PermitOutcome.unreachable)", "answered unreachable"),
      ("\(PermitOutcome.refused()) \(PermitOutcome.unavailable())", "refused unavailable"),
      ("\(PermitOutcome.refused(retryAfter: .seconds(5)))", "refused(retryAfter: 5.0 seconds)"),
      ("\(PermitOutcome.unavailable(retryAfter: .seconds(5)))", "unavailable(retryAfter: 5.0 seconds)"),
      ("\(InterceptorAnswer.deliver) \(InterceptorAnswer.resend)", "deliver resend"),
      ("\(AuthenticationAnswer.default) \(AuthenticationAnswer.cancel)", "default cancel"),
    ])
  func names(_ text: String, _ name: String) { #expect(text == name) }

  @Test(
    "an answer with a credential shows its scheme only, in dumps too",
    arguments: [
      (AuthenticationAnswer.credential(user: "anna", password: "secret"), "basic"), (.bearer("secret"), "bearer"),
      (.authorization("Digest secret"), "authorization"),
    ])
  func secrets(_ answer: AuthenticationAnswer, _ name: String) {
    var dumped = ""
    dump(answer, to: &dumped)
    #expect("\(answer)" == name)
    #expect(!dumped.contains("secret") && !dumped.contains("Basic"))
  }
}
