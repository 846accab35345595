import Foundation
import HeadgateDispatch
import HeadgateRedis

/// A program of the tests that takes permits and shows them to a judge: `worker URL LIMIT MILLISECONDS JUDGE`. A permit is a
/// connection to the judge's socket, so that the kernel ends it with the process.
@main struct Worker {
  static func main() async throws {
    let words = CommandLine.arguments
    guard words.count == 5, let limit = Int(words[2]), let time = Int(words[3]) else { exit(2) }
    let coordinator = try RedisCoordinator(words[1], lease: .seconds(1))
    var limits = GateLimits.standard
    limits.endPoint = try EndPointLimits(requests: limit)
    let demand = SharedDemand(for: try EndPoint(host: "example.com", port: 1), limits: limits)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          while let permit = try? await coordinator.permit(for: demand) {
            let line = connection(words[4])
            try? await Task.sleep(for: .milliseconds(time))
            close(line)
            permit.release()
          }
        }
      }
    }
  }

  private static func connection(_ path: String) -> Int32 {
    let line = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(line, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    // The process's number, for the judge.
    var number = getpid()
    guard isConnected == 0, write(line, &number, 4) == 4 else { exit(3) }
    return line
  }
}
