import Foundation
import Headgate
import HeadgateOrigin
import HeadgateSharing
import HeadgateTesting
import Testing

/// Takes orders from an API and stores them in a database. All copies of the program on a machine together run at most
/// three pieces of work for the account, of either kind.
struct Importer: Sendable {
  private static let account = RequestScope.key("acct-7")
  let dispatcher: URLDispatcher

  init(folder: PermitFolder = .user) throws {
    let limits = try GateLimits(
      endPoint: EndPointLimits(requests: 10), scopes: [Self.account: ScopeLimits(requests: 3)])
    dispatcher = try URLDispatcher(limits: limits, coordinator: UnixCoordinator(folder: folder))
  }

  func importOrder(
    from url: String, into database: EndPoint, store: @escaping @Sendable ([UInt8]) async throws -> Void
  ) async throws {
    var request = try DispatchRequest(url)
    request.scopes = [Self.account]
    let order = try await dispatcher.data(for: request).successful()
    try await dispatcher.gate.withPermit(for: database, scopes: [Self.account]) {
      try await store(order.body)
    }
  }
}

/// The recipe for one limit over requests, other work and several programs.
@Suite struct RecipeOneLimitTests {
  private let database: EndPoint
  private let folder = PermitFolder(path: "/tmp/hg-doc-\(UInt32.random(in: 0 ... .max))")

  init() throws { database = try EndPoint(host: "db.example", port: 5432) }

  @Test(
    "while two programs store three orders, neither sends a request; then all are imported", .timeLimit(.minutes(1)))
  func limit() async throws {
    defer { try? FileManager.default.removeItem(atPath: folder.path) }
    let (server, door, inside) = (try Origin(), Gate(), Semaphore(permits: 0))
    let programs = [try Importer(folder: folder), try Importer(folder: folder)]
    let loop = try ThreadLoop(name: "imports")
    func start(_ numbers: Range<Int>) -> [Task<Void, any Error>] {
      numbers.map { number in
        Task(executorPreference: loop.taskExecutor) {
          try await programs[number % 2].importOrder(from: server.url("/bytes/\(number)"), into: database) { order in
            #expect(order.count == number)
            inside.signal()
            try await door.wait()
          }
        }
      }
    }
    let first = start(0..<3)
    for _ in 0..<3 { try await inside.wait() }
    let others = start(3..<20)
    // Their requests are submitted when the loop has nothing more to do.
    try await loop.performAndWait {}
    #expect(programs.map { $0.dispatcher.operations().count }.reduce(0, +) == 17)
    #expect(server.counts().received == 3)
    door.open()
    for task in first + others { try await task.value }
    #expect(server.counts().received == 20 && server.counts().peakRequests <= 3)
    for program in programs { await program.dispatcher.shutDown() }
    loop.stop()
  }
}
