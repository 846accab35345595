import HTTPTypes
import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads

/// Tests of bearer tokens for one end-point.
protocol BearerTokensSuite {
  /// Numbers the fetches.
  var fetches: Outcomes<BearerToken?> { get }
  var here: EndPoint { get }
}

extension BearerTokensSuite {
  /// Provides the tokens `t1`, `t2` and so on, each after the gate is open.
  func tokens(
    _ first: String? = nil, lifetime: Duration? = nil, after gate: Gate? = nil, asks inside: Gate? = nil
  ) -> BearerTokens {
    let fetches = fetches
    return BearerTokens(for: here, overPlainHTTP: true, token: first.map { BearerToken($0) }) { fetch in
      fetches.add(fetch.old)
      let number = fetches.count
      inside?.open()
      await gate?.waitRegardless()
      return BearerToken("t\(number)", validFor: lifetime)
    }
  }

  static func token(of exchange: ScriptedExchange) -> String? {
    exchange.request.headerFields[.authorization]
  }
}
