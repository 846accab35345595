import HeadgateOrigin
import HeadgateThreads

extension Origin {
  /// Holds the first requests, so that enough are present at once even on a slow machine; later ones are answered
  /// according to their paths.
  func holdFirst(_ count: Int) {
    let arrived = Locked(0)
    setScript(
      OriginScript(handler: { _ in
        let number = arrived.withLock { arrived in
          arrived += 1
          return arrived
        }
        return number <= count ? .hold : nil
      }))
  }

  /// Waits until this many requests are being answered at once, and answers the held ones.
  func release(atRequests count: Int) async -> Bool {
    let areThere = await waitUntil({ $0.requests >= count }, until: .after(.seconds(60)))
    release()
    return areThere
  }
}
