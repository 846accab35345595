import HeadgateFlow

struct Broken: Error {}

@Sendable func load(_ mirror: String) async throws -> String {
  switch mirror {
  case "broken": throw Broken()
  case "slow": try await Task.sleep(for: .seconds(60))
  default: break
  }
  return "page of \(mirror)"
}

let mirrors = ["broken", "slow", "good"]
let page = try await firstToSucceed(mirrors) { mirror in try await load(mirror) }
let sizes = try await mirrors.mapConcurrently(limit: 2) { mirror in mirror.count }
print(page, sizes)
