import HeadgateDispatch
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// Lines on disk.
@Suite struct LineStoreTests {
  private let crew = LaneCrew(name: "test-lines", size: 1)
  private let hosts: [EndPoint]

  init() throws { hosts = try (0..<3).map { try EndPoint(host: "h\($0)", port: 80) } }

  private func batch(_ host: Int, _ lines: [StoredLine]) -> LineStore.Batch {
    var batch = LineStore.Batch(endPoint: hosts[host])
    for line in lines { batch.add(line) }
    return batch
  }

  private func lines(_ host: Int, _ numbers: Range<Int>, padding: Int = 0) -> [StoredLine] {
    numbers.map { number in
      StoredLine(
        url: "http://h\(host)/\(number)\(String(repeating: "x", count: padding))", name: "ä\(number)", index: number)
    }
  }

  @Test func `The requested number of lines is returned, however long they are`() async throws {
    let store = LineStore(on: crew, bound: 1 << 24)
    let long = lines(0, 0..<40, padding: 3_000)
    let short = lines(1, 0..<2_000)
    try await store.append([batch(0, long), batch(1, short)])
    #expect(try await store.take(40, of: hosts[0]) == long)
    #expect(try await store.take(1_500, of: hosts[1]) == Array(short[..<1_500]))
    await store.forget(hosts[1])
    #expect(try await store.take(500, of: hosts[1]).isEmpty)
    try await store.append([batch(1, long)])
    #expect(try await store.take(40, of: hosts[1]) == long)
  }

  @Test func `The lines of each host are returned in their order`() async throws {
    let store = LineStore(on: crew, bound: 1 << 20)
    let all = (0..<3).map { lines($0, 0..<500) }
    for start in stride(from: 0, to: 500, by: 100) {
      try await store.append((0..<3).map { batch($0, Array(all[$0][start..<(start + 100)])) })
    }
    for host in 0..<3 {
      var taken: [StoredLine] = []
      while case let more = try await store.take(7, of: hosts[host]), !more.isEmpty {
        #expect(more.count <= 7)
        taken += more
      }
      #expect(taken == all[host])
    }
    #expect(try await store.take(1, of: hosts[0]) == [])
  }

  @Test func `A line that is longer than one read is complete`() async throws {
    let store = LineStore(on: crew, bound: 1 << 20)
    let long = lines(0, 0..<3, padding: 64 * 1024)
    try await store.append([batch(0, long)])
    #expect(try await store.take(1, of: hosts[0]) == [long[0]])
    #expect(try await store.take(5, of: hosts[0]).first == long[1])
  }

  @Test func `Lines beyond the bound are refused completely, and freed space is reused`() async throws {
    let store = LineStore(on: crew, bound: 8 * BlockTable.blockSize)
    let few = lines(0, 0..<10)
    try await store.append([batch(0, few)])
    await #expect(throws: LineStore.Refusal.bound) {
      try await store.append([batch(1, lines(1, 0..<2)), batch(0, lines(0, 10..<2000))])
    }
    #expect(try await store.take(9, of: hosts[1]) == [])
    #expect(try await store.take(20, of: hosts[0]) == few)
    let many = lines(2, 0..<400)
    try await store.append([batch(2, many)])
    #expect(try await store.take(400, of: hosts[2]).first == many[0])
  }

  @Test func `A full disk is reported, and its earlier lines remain available`() async throws {
    let files = Locked(try [Descriptor.openForWriting("/dev/full")])
    let store = LineStore(on: crew, bound: 1 << 20) { () throws(SystemError) in
      guard let file = files.withLock({ $0.popLast() }) else { throw SystemError(errno: 24) }
      return file
    }
    await #expect(throws: LineStore.Refusal.disk(SystemError(errno: 28))) {
      try await store.append([batch(0, lines(0, 0..<3))])
    }
    #expect(try await store.take(3, of: hosts[0]) == [])
    await #expect(throws: LineStore.Refusal.disk(SystemError(errno: 24))) {
      try await LineStore(on: crew, bound: 1 << 20) { () throws(SystemError) in throw SystemError(errno: 24) }
        .append([batch(0, lines(0, 0..<1))])
    }
  }

  @Test func `A torn line is not a line`() {
    var bytes: [UInt8] = []
    lines(0, 0..<1)[0].encode(into: &bytes)
    for length in 0..<bytes.count { #expect(StoredLine.decode(bytes.prefix(length)) == nil) }
    #expect(StoredLine.decode(bytes[...])?.length == bytes.count)
    #expect(StoredLine.decode(Array(repeating: 0xFF, count: 99)[...]) == nil)
  }
}

extension Descriptor {
  fileprivate static func openForWriting(_ path: String) throws -> Int32 { try Descriptor.create(path) }
}
