import Headgate
import HeadgateRedis

/// Fetches a list of URLs, at a limit that all programs with the same namespace share, on any machine.
func crawl(_ urls: [String], redis: String) async throws {
  let limits = try GateLimits(endPoint: EndPointLimits(requests: 4))
  let coordinator = try RedisCoordinator(redis, namespace: "crawl")
  let dispatcher = try URLDispatcher(limits: limits, coordinator: coordinator)
  try await withThrowingTaskGroup { group in
    for url in urls {
      group.addTask { _ = try await dispatcher.data(for: url) }
    }
    try await group.waitForAll()
  }
  await dispatcher.shutDown()
  coordinator.shutDown()
}
