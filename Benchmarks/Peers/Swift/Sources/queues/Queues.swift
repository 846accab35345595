// Elements from one task to another, with swift-async-algorithms' AsyncChannel, followed by a buffer if there is a
// capacity, and with AsyncStream, which never makes a producer wait. `queues channel CAPACITY SECONDS`,
// `queues stream unbounded SECONDS`.
import AsyncAlgorithms
import Measure

@main
struct Queues {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let seconds = Double(arguments[3]), seconds > 0 else {
      complain("usage: \(arguments[0]) channel CAPACITY SECONDS | stream unbounded SECONDS")
    }
    switch (arguments[1], Int(arguments[2])) {
    case ("channel", 0):
      measure("channel", seconds: seconds) { operations in
        let channel = AsyncChannel<UInt64>()
        move(operations, { await channel.send($0) }, { channel.finish() }, channel)
      }
    case ("channel", let capacity?):
      measure("channel", seconds: seconds) { operations in
        let channel = AsyncChannel<UInt64>()
        move(
          operations, { await channel.send($0) }, { channel.finish() }, channel.buffer(policy: .bounded(capacity)))
      }
    case ("stream", nil):
      measure("stream", seconds: seconds) { operations in
        let (stream, continuation) = AsyncStream<UInt64>.makeStream()
        move(operations, { continuation.yield($0) }, { continuation.finish() }, stream)
      }
    default: complain("channel CAPACITY, or stream unbounded")
    }
  }

  static func move(
    _ operations: Int, _ put: @escaping @Sendable (UInt64) async -> Void, _ end: @escaping @Sendable () -> Void,
    _ elements: some AsyncSequence<UInt64, Never> & Sendable
  ) {
    let count = UInt64(operations)
    let sum = moveByTasks {
      for number in 0..<count { await put(number) }
      end()
    } take: {
      var sum: UInt64 = 0
      for await number in elements { sum += number }
      return sum
    }
    check(sum == count * (count - 1) / 2)
  }
}
