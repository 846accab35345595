import Headgate
import HeadgateOrigin

let server = try Origin(script: OriginScript(connectionLimit: 4, delay: .milliseconds(20)))
let dispatcher = try URLDispatcher(perHost: 4)

try await withThrowingTaskGroup(of: Int.self) { group in
  for number in 1...100 {
    group.addTask { try await dispatcher.data(for: server.url("/bytes/\(number)")).body.count }
  }
  var bytes = 0
  for try await count in group { bytes += count }
  print("fetched", bytes, "bytes in 100 responses")
}
print("the server saw at most", server.counts().peakSockets, "connections and refused", server.counts().refused)
