import Foundation
import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads
import Testing

@testable import HeadgateSharing

/// What a server finds of the servers before it.
@Suite struct EarlierPermitsTests {
  private let place = SharingPlace()

  /// Writes a permit as a server does, and holds it. Returns its pipe.
  private func hold(_ id: UInt64, for endPoint: EndPoint) throws -> Int32 {
    try hold(id, PermitRecord(PermitAsk(endPoint), (nil, [:])))
  }

  private func hold(_ id: UInt64, _ record: PermitRecord) throws -> Int32 {
    try place.folder.prepare()
    try record.write(to: place.folder.record(id))
    var pipe = try PermitPipe.create(at: place.folder.pipe(id))
    defer { pipe.closeAll() }
    return try PermitPipe.take(place.folder.pipe(id))
  }

  @Test(
    "a server does not start while a permit can't be read, and leaves it to the next one", arguments: [true, false])
  func unreadable(isRecord: Bool) throws {
    let endPoint = try EndPoint(host: "a", port: 80)
    let writer = try hold(7, for: endPoint)
    defer { StreamSocket.close(writer) }
    // A link to itself can't be opened. Neither can any file while no descriptor is left.
    let path = isRecord ? place.folder.record(7) : place.folder.pipe(7)
    let aside = place.folder.path + "/aside"
    #expect(rename(path, aside) == 0 && symlink(path, path) == 0)
    #expect(throws: SharingError.self) { try PermitServer.start(in: place.folder)?.stop() }
    #expect(rename(aside, path) == 0)
    let found = try EarlierPermits(in: place.folder)
    defer { found.close() }
    #expect(found.lastNumber == 7)
    #expect(found.items.map(\.record.ask.endPoint) == [endPoint])
    #expect(found.items.allSatisfy { $0.pipe.hasWriter })
  }

  @Test("a permit whose server was killed as it checked the pipe is found")
  func ending() throws {
    let writer = try hold(7, for: try EndPoint(host: "a", port: 80))
    #expect(rename(place.folder.pipe(7), place.folder.ending(7)) == 0)
    let found = try EarlierPermits(in: place.folder)
    defer { found.close() }
    #expect(found.items.map(\.id) == [7])
    #expect(found.items.allSatisfy { $0.pipe.hasWriter })
    #expect(access(place.folder.pipe(7), F_OK) == 0)
    StreamSocket.close(writer)
    #expect(found.items.allSatisfy { !$0.pipe.hasWriter })
  }

  @Test("a folder that can't be read is not taken for an empty one")
  func unreadableFolder() {
    #expect(throws: SystemFailure.self) { try EarlierPermits(in: place.folder) }
  }

  @Test("a pipe without a complete record was never granted, and is removed", arguments: [true, false])
  func incomplete(isMissing: Bool) throws {
    let writer = try hold(7, for: try EndPoint(host: "a", port: 80))
    defer { StreamSocket.close(writer) }
    #expect(isMissing ? unlink(place.folder.record(7)) == 0 : truncate(place.folder.record(7), 3) == 0)
    #expect(try EarlierPermits(in: place.folder).items.isEmpty)
    #expect(try place.folder.recoverPermitNumbers().isEmpty)
  }

  @Test("permits that are held count at their end-point even if a rate of their scope would delay them")
  func delayedByRate() throws {
    let (endPoint, scope) = (try EndPoint(host: "a", port: 80), RequestScope.key("a"))
    var ask = PermitAsk(endPoint)
    ask.scopes = [scope]
    let limits = try EndPointLimits(requests: 4)
    let rate = try ScopeLimits(rates: [.rolling(1, per: .seconds(60))])
    let writers = try (7...9).map { try hold($0, PermitRecord(ask, (limits, [scope: rate]))) }
    defer { for writer in writers { StreamSocket.close(writer) } }
    let server = try #require(try PermitServer.start(in: place.folder))
    defer {
      server.stop()
      server.wait()
    }
    var channel = try PermitChannel(place.folder)
    defer { channel.close() }
    for number in 1...4 { try channel.send(.ask(UInt64(number), PermitAsk(endPoint))) }
    // The grants come before the state, since both are sent on the server's thread.
    try channel.send(.status)
    var replies: [PermitReply] = []
    while replies.last != .end, let reply = channel.next(until: .after(.seconds(60))) { replies.append(reply) }
    let granted = replies.count { if case .granted = $0 { true } else { false } }
    #expect(granted == 1)
    #expect(replies.contains(.status("programs connected: 0, permits held: 4, waiting: 3")))
  }
}
