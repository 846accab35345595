import Foundation
import HeadgateDispatch
import HeadgateRedis

/// A program of the tests that takes permits and shows them to a judge: `worker URL LIMIT MILLISECONDS JUDGE`. A permit is a
/// connection to the judge's socket, so that the kernel ends it with the process. With a number behind them, the program
/// takes twice so many permits, and is idle then. `worker relay SOCKET TARGET` is a link to a server.
@main struct Worker {
  static func main() async throws {
    let words = CommandLine.arguments
    if words.count == 4, words[1] == "relay" { try Relay(words[2], to: words[3]).run() }
    guard words.count >= 5, let limit = Int(words[2]), let time = Int(words[3]) else { exit(2) }
    let most = words.count > 5 ? Int(words[5]) ?? 0 : .max
    let coordinator = try RedisCoordinator(words[1], lease: .seconds(1))
    var limits = GateLimits.standard
    limits.endPoint = try EndPointLimits(requests: limit)
    let demand = SharedDemand(for: try EndPoint(host: "example.com", port: 1), limits: limits)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          var left = most
          while left > 0, let permit = try? await coordinator.permit(for: demand) {
            left -= 1
            let line = try? UnixSocket.connect(words[4])
            // The process's number, for the judge.
            var number = getpid()
            guard let line, write(line, &number, 4) == 4 else { exit(3) }
            try? await Task.sleep(for: .milliseconds(time))
            close(line)
            permit.release()
          }
        }
      }
    }
    while most < .max { try await Task.sleep(for: .seconds(60)) }
  }
}
