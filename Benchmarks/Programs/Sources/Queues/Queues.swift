import HeadgateThreads
import Measure

/// Elements moved through a blocking queue. Arguments: stream|pingpong|tasks CAPACITY|unbounded THREADS 8|64|new|shared
/// SECONDS.
///
/// `stream`: THREADS threads put and as many take; `tasks`: one task puts and one takes; `pingpong`: one element at a
/// time goes back and forth between two threads over two queues. Each element is created by the thread that puts it and
/// read by the one that takes it.
@main
struct QueuesBenchmark {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 6, ["stream", "pingpong", "tasks"].contains(arguments[1]), let threads = Int(arguments[3]),
      let seconds = Double(arguments[5]), threads > 0, seconds > 0
    else {
      complain("usage: \(arguments[0]) stream|pingpong|tasks CAPACITY|unbounded THREADS 8|64|new|shared SECONDS")
    }
    let shape = Shape(
      name: arguments[1], capacity: Int(arguments[2]), threads: threads, seconds: seconds)
    switch arguments[4] {
    case "8": try run(UInt64.self, shape)
    case "64": try run(Wide.self, shape)
    case "new": try run(New.self, shape)
    case "shared": try run(Shared.self, shape)
    default: complain("an element is 8, 64, new or shared")
    }
  }

  static func run<Element: Numbered>(_: Element.Type, _ shape: Shape) throws {
    let there: BlockingQueue<Element> = try shape.queue()
    let back: BlockingQueue<Element> = try shape.queue()
    try measure("headgate", seconds: shape.seconds) { operations in
      switch shape.name {
      case "pingpong": try pingpong(operations, there, back)
      case "tasks": tasks(operations, there)
      default: try stream(operations, threads: shape.threads, there)
      }
    }
  }

  static func stream<Element: Numbered>(
    _ operations: Int, threads: Int, _ queue: BlockingQueue<Element>
  ) throws {
    let each = UInt64(operations / threads)
    let producers = try (0..<threads).map { first in
      try ManagedThread.spawn {
        for turn in 0..<each { try queue.put(Element(number: UInt64(first) + turn * UInt64(threads))) }
      }
    }
    let consumers = try (0..<threads).map { _ in
      try ManagedThread.spawn {
        var sum: UInt64 = 0
        for _ in 0..<each { sum += try queue.take().number }
        return sum
      }
    }
    for producer in producers { try producer.join() }
    let sum = try consumers.reduce(0) { try $0 + $1.join() }
    let count = each * UInt64(threads)
    check(sum == Element.sum(of: count))
  }

  static func tasks<Element: Numbered>(_ operations: Int, _ queue: BlockingQueue<Element>) {
    let count = UInt64(operations)
    let sum = moveByTasks {
      for number in 0..<count { try await queue.put(Element(number: number)) }
    } take: {
      var sum: UInt64 = 0
      for _ in 0..<count { sum += try await queue.take().number }
      return sum
    }
    check(sum == Element.sum(of: count))
  }

  static func pingpong<Element: Numbered>(
    _ operations: Int, _ there: BlockingQueue<Element>, _ back: BlockingQueue<Element>
  ) throws {
    let echo = try ManagedThread.spawn {
      for _ in 0..<operations { try back.put(there.take()) }
    }
    for turn in 0..<UInt64(operations) {
      try there.put(Element(number: turn))
      check(try back.take().number == turn % Element.cycle)
    }
    try echo.join()
  }
}

/// The measurement that the arguments specify.
struct Shape: Sendable {
  var name: String
  /// Nil for a queue without a limit.
  var capacity: Int?
  var threads: Int
  var seconds: Double

  func queue<Element>() throws -> BlockingQueue<Element> {
    if let capacity { try BlockingQueue(capacity: capacity) } else { BlockingQueue() }
  }
}

/// An element: created from a number, and read completely.
protocol Numbered: Sendable {
  /// The count after which the numbers restart, if they do.
  static var cycle: UInt64 { get }
  init(number: UInt64)
  var number: UInt64 { get }
}

extension Numbered {
  static var cycle: UInt64 { .max }

  /// The sum of the numbers of this many elements.
  static func sum(of count: UInt64) -> UInt64 {
    func ofFirst(_ count: UInt64) -> UInt64 { count == 0 ? 0 : count * (count - 1) / 2 }
    return count < cycle ? ofFirst(count) : count / cycle * ofFirst(cycle) + ofFirst(count % cycle)
  }
}

extension UInt64: Numbered {
  init(number: UInt64) { self = number }
  var number: UInt64 { self }
}

/// 64 bytes.
struct Wide: Numbered {
  var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
  init(number: UInt64) { words = (number, 0, 0, 0, 0, 0, 0, 1) }
  var number: UInt64 { words.0 * words.7 }
}

/// A new object for each element.
final class New: Numbered {
  let number: UInt64
  init(number: UInt64) { self.number = number }
}

/// One of 1,024 existing objects.
struct Shared: Numbered {
  static let cycle: UInt64 = 1024
  private static let objects = (0..<cycle).map { New(number: $0) }

  let object: New
  init(number: UInt64) { object = Self.objects[Int(number % Self.cycle)] }
  var number: UInt64 { object.number }
}
