import Foundation
import Headgate
import HeadgateFlow
import HeadgateOrigin
import Synchronization
import Testing

/// Lets Ctrl-C and SIGTERM end the dispatcher: running requests finish, waiting ones fail with `shutDown`.
func endAtInterrupt(_ dispatcher: URLDispatcher) -> [any DispatchSourceSignal] {
  [SIGINT, SIGTERM].map { number in
    signal(number, SIG_IGN)  // or it would end the process
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler { @Sendable in Task { await dispatcher.shutDown(.graceful) } }
    source.resume()
    return source
  }
}

/// Fetches the URLs of a list, one in each line, and leaves those in it that an interrupt has left.
func fetchList(_ path: String, save: @escaping @Sendable (DispatchResponse) throws -> Void) async throws {
  let urls = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
  let dispatcher = try URLDispatcher(perHost: 4)
  let signals = endAtInterrupt(dispatcher)
  defer { for source in signals { source.cancel() } }
  let results = try await allSettled(urls) { url in
    var request = try DispatchRequest(url)
    request.retry = RetryPolicy(attempts: 4)
    let response = try await dispatcher.data(for: request).successful()
    try save(response)
  }
  var left: [String] = []
  for (url, result) in zip(urls, results) {
    switch result {
    case .success: break
    case .failure(let error as DispatchError) where error.code == .shutDown: left.append(url)
    case .failure(let error): print("\(url): \(error)")
    }
  }
  try left.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
  await dispatcher.shutDown()
}

/// The recipe for a batch that can be interrupted.
@Suite struct RecipeInterruptTests {
  @Test("an interrupt leaves what waits, and the next run does exactly the rest")
  func interrupt() async throws {
    let arrived = Mutex(0)
    let server = try Origin(
      script: OriginScript(delay: .milliseconds(5)) { _ in
        // Not only once: the source takes effect some time after it is resumed, and misses earlier signals.
        let number = arrived.withLock { count in
          count += 1
          return count
        }
        if number.isMultiple(of: 10) { kill(getpid(), SIGINT) }
        return nil
      })
    let list = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: list) }
    let urls = (1...400).map { server.url("/bytes/\($0)") }
    try urls.joined(separator: "\n").write(toFile: list, atomically: true, encoding: .utf8)
    let saved = Mutex<[String]>([])
    try await fetchList(list) { response in saved.withLock { $0.append(response.url) } }
    let count = saved.withLock { $0.count }
    #expect(count >= 10 && count < 400)
    server.setScript(OriginScript())
    try await fetchList(list) { response in saved.withLock { $0.append(response.url) } }
    #expect(saved.withLock { $0.sorted() } == urls.sorted())
    #expect(try String(contentsOfFile: list, encoding: .utf8) == "")
    signal(SIGTERM, SIG_DFL)  // SIGINT stays ignored: one may still be under way
  }
}
