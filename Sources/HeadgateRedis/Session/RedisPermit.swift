#if Redis
import HeadgateGate
import HeadgateThreads

/// A request that waits for a permit from Redis.
final class RedisWait: SharedPermitRequest {
  let demand: SharedDemand
  let kind: PermitClass
  let end: @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  private let link: RedisLink

  init(
    _ demand: SharedDemand, _ link: RedisLink,
    _ completion: @escaping @Sendable (Result<any SharedPermit, DispatchError>) -> Void
  ) {
    (self.demand, self.link) = (demand, link)
    kind = PermitClass(demand)
    end = completion
  }

  func cancel() {
    link.withdraw(self)
    end(.failure(DispatchError(.cancelled)))
  }
}

/// A permit that Redis has granted.
final class RedisPermit: SharedPermit {
  private let link: RedisLink
  private let number: UInt64
  private let name: String
  private let weights: [String: Int]
  // When its weights were charged, by Redis's clock.
  private let moment: String
  private let released = SingleUse()

  init(_ link: RedisLink, _ number: UInt64, _ name: String, _ weights: [String: Int], _ moment: String) {
    (self.link, self.number, self.name, self.weights, self.moment) = (link, number, name, weights, moment)
  }

  deinit { release() }

  @discardableResult
  func settle(_ used: [String: Int]) -> Bool {
    link.settle(name, moment, used.map { (PermitClass.budget($0.key), weights[$0.key] ?? 0, max(0, $0.value)) })
  }

  @discardableResult
  func release() -> Bool { end(isUsed: true) }

  @discardableResult
  func decline() -> Bool { end(isUsed: false) }

  private func end(isUsed: Bool) -> Bool {
    guard released.take() else { return false }
    link.release(number, isUsed: isUsed)
    return true
  }
}
#endif
