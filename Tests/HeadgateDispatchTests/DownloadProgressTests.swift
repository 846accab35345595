import Foundation
import HTTPTypes
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

/// The progress of a download.
@Suite struct DownloadProgressTests {
  private let path = FileManager.default.temporaryDirectory.path + "/headgate-\(UUID().uuidString)"

  @Test("progress is reported after a hundredth or 64 KB, whichever is more, and once at the end")
  func rate() {
    var random = SeededRandom(seed: 7)
    for expected in [nil, 0, 1, 100_000, 50_000_000] as [Int64?] {
      var count = ProgressCount(longestStep: 1 << 20)
      count.begin(total: expected)
      var told: [TransferProgress] = []
      let total = expected ?? 3_000_000
      var received: Int64 = 0
      while received < total {
        let piece = min(total - received, Int64.random(in: 1...40_000, using: &random))
        received += piece
        let last = told.last?.bytes ?? 0
        let step = min(max(65_536, (expected ?? 0) / 100), 1_048_576)
        let progress = count.add(piece)
        #expect((progress != nil) == (received - last >= step || received == expected))
        if let progress { told.append(progress) }
      }
      if let last = count.end() { told.append(last) }
      #expect(count.end() == nil)
      #expect(told.last == TransferProgress(bytes: total, total: total))
      #expect(zip(told, told.dropFirst()).allSatisfy { $0.bytes < $1.bytes })
      #expect(told.count <= 102)
    }
  }

  @Test("a body that is received a second time is reported once it exceeds the first")
  func anew() {
    var count = ProgressCount()
    count.begin(total: 300_000)
    #expect(count.add(200_000)?.bytes == 200_000)
    count.begin(total: 400_000)
    #expect(count.add(150_000) == nil && count.add(100_000) == nil)
    #expect(count.add(100_000) == TransferProgress(bytes: 350_000, total: 400_000))
    #expect(count.add(50_000) == TransferProgress(bytes: 400_000, total: 400_000) && count.end() == nil)
  }

  @Test("the fraction is known if the total is known")
  func fraction() {
    #expect(TransferProgress(bytes: 1, total: 4).fraction == 0.25)
    #expect(TransferProgress(bytes: 5, total: 4).fraction == 1)
    #expect(TransferProgress(bytes: 0, total: 0).fraction == 1)
    #expect(TransferProgress(bytes: 1, total: nil).fraction == nil)
  }

  @Test("a listener is called in order and before the completion; while it is busy only the latest count is kept")
  func busy() async throws {
    let bench = try Bench()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let (told, inside, goesOn) = (Outcomes<String>(), Gate(), Gate())
    bench.dispatcher.dispatch(try bench.request(), to: .replacing(path)) { progress in
      told.add("\(progress.bytes) of \(progress.total ?? -1)")
      inside.open()
      block(until: goesOn)
    } completion: { result in
      told.add("ended, \((try? result.get().bytes) ?? -1) bytes")
    }
    let exchange = try await bench.transport.next()
    let piece = [UInt8](repeating: 1, count: 65_536)
    exchange.head(200, [.contentLength: "\(4 * piece.count)"])
    exchange.body(piece)
    try await inside.wait()
    for _ in 0..<3 { exchange.body(piece) }
    exchange.end()
    goesOn.open()
    await told.wait(for: 3)
    #expect(told.values == ["65536 of 262144", "262144 of 262144", "ended, 262144 bytes"])
    #expect(await bench.isCleanAtLast())
  }

  @Test("a body that is not stored is reported too, and a broken one only as far as it was received")
  func notKept() async throws {
    let bench = try Bench()
    let told = Outcomes<TransferProgress>()
    async let refused = bench.dispatcher.download(for: bench.request(), to: .numbered(path)) { told.add($0) }
    try await bench.transport.next().respond(404, [.contentLength: "3"], body: "nil")
    #expect(try await refused.path == nil)
    #expect(told.values == [TransferProgress(bytes: 3, total: 3)])
    let broken = Task {
      try await bench.dispatcher.download(for: bench.request(), to: .numbered(path)) { told.add($0) }
    }
    let exchange = try await bench.transport.next()
    exchange.head(200, [.contentLength: "200000"])
    exchange.body([UInt8](repeating: 1, count: 70_000))
    exchange.body([1])
    exchange.end(DispatchError(.connectionLost, phase: .receiving))
    await #expect(throws: DispatchError.self) { try await broken.value }
    #expect(told.values.dropFirst() == [TransferProgress(bytes: 70_000, total: 200_000)])
    #expect(await bench.isCleanAtLast())
  }
}
