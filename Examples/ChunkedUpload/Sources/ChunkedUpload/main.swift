import Headgate
import HeadgateFlow
import HeadgateOrigin
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// While `isFull` is true, the server accepts the first 200,000 bytes of a file, and then has no room.
let isFull = Mutex(true)
let server = try Origin(
  script: OriginScript { request in
    guard let offset = request.parameter("offset").flatMap(Int.init), offset >= 200_000 else { return nil }
    return isFull.withLock { $0 } ? .text("no room", status: 507) : nil
  })
let client = Client(
  dispatcher: try URLDispatcher(perHost: 4), server: server)
let file = FileManager.default.temporaryDirectory.appendingPathComponent("chunked-upload-\(server.port)").path
try Data(repeating: 7, count: 250_000).write(to: URL(fileURLWithPath: file))
defer { try? FileManager.default.removeItem(atPath: file) }

/// Sends two requests, uploads a file in pieces of 100 KB, and sends one more request. An error names the step that
/// failed.
func publish(_ file: String, from offset: Int) async throws(StepError) {
  try await step("log in") { try await client.get("/bytes/10") }
  try await step("ask where to") { try await client.get("/bytes/20") }
  try await step("upload") {
    try await sendChunks(ofFile: file, size: 100_000, from: offset) { chunk in
      try await client.post(chunk)
      print("  sent", chunk.end, "of", chunk.total ?? 0)
    }
  }
  try await step("confirm") { try await client.get("/bytes/30") }
}

// At the first attempt, the server becomes full in the middle of the upload. The second attempt continues from there.
var offset = 0
do throws(StepError) {
  try await publish(file, from: offset)
} catch {
  let failure = error.cause as? FlowError
  offset = failure?.offset ?? 0
  print("failed in \"\(error.step)\" at byte \(offset):", failure?.failure ?? error.cause)
}
isFull.withLock { $0 = false }
try await publish(file, from: offset)
print("published")

// Three requests, of which one must succeed; then the same three, all of which must.
let paths = ["/status/503", "/bytes/5", "/status/404"]
let any = try await firstToSucceed(paths) { path in try await client.get(path) }
print("any of three:", any.utf8.count, "bytes")

do {
  let all = try await allSucceed(paths, atMost: 1) { path in try await client.get(path) }
  print("all of three:", all.count)
} catch let error as FlowError {
  print("all of three:", error.failures[0], "at number", error.inputs[0])
}
await client.dispatcher.shutDown(.graceful)
