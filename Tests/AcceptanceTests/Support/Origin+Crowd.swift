import HeadgateOrigin
import HeadgateThreads

extension Origin {
  /// Holds the first requests that come, so that as many are there at once however slow the machine is; later ones are
  /// answered by their paths.
  func holdFirst(_ count: Int) {
    let arrived = Locked(0)
    setScript(
      OriginScript(answerHook: { _ in
        let number = arrived.withLock { arrived in
          arrived += 1
          return arrived
        }
        return number <= count ? .hold : nil
      }))
  }

  /// Waits until so many requests are being answered at once, and answers those that are held.
  func release(atRequests count: Int) async -> Bool {
    let areThere = await waitUntil({ $0.requests >= count }, until: .after(.seconds(60)))
    release()
    return areThere
  }
}
