// Evaluates deeply nested expressions with plain recursion, in an actor. The threads that run Swift's tasks have small
// stacks: this actor has a thread of its own, with a big one.

import Headgate

struct SyntaxError: Error {
  let problem: String
  let offset: Int
}

actor Calculator {
  private let loop: ThreadLoop
  private(set) var depth = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.serialExecutor.asUnownedSerialExecutor() }

  /// - Parameter stackSize: In bytes. Only the part that is used takes memory.
  init(stackSize: Int) throws { loop = try ThreadLoop(name: "calculator", stackSize: stackSize) }

  /// The value of sums and parentheses, such as `1+(2+(3+4))`.
  func value(of text: String) throws -> Int {
    var rest = Array(text.utf8)[...]
    let value = try sum(&rest, depth: 1)
    guard rest.isEmpty else { throw SyntaxError(problem: "unexpected character", offset: rest.startIndex) }
    return value
  }

  private func sum(_ rest: inout ArraySlice<UInt8>, depth level: Int) throws -> Int {
    depth = max(depth, level)
    var value = try term(&rest, depth: level)
    while rest.first == UInt8(ascii: "+") {
      rest.removeFirst()
      value += try term(&rest, depth: level)
    }
    return value
  }

  private func term(_ rest: inout ArraySlice<UInt8>, depth level: Int) throws -> Int {
    if rest.first == UInt8(ascii: "(") {
      rest.removeFirst()
      let value = try sum(&rest, depth: level + 1)
      guard rest.popFirst() == UInt8(ascii: ")") else {
        throw SyntaxError(problem: "missing parenthesis", offset: rest.startIndex)
      }
      return value
    }
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard let number = Int(String(decoding: digits, as: UTF8.self)) else {
      throw SyntaxError(problem: "no number", offset: rest.startIndex)
    }
    rest = rest.dropFirst(digits.count)
    return number
  }
}

let calculator = try Calculator(stackSize: 256 << 20)
let nested = String(repeating: "1+(", count: 100_000) + "1" + String(repeating: ")", count: 100_000)
print("the value is", try await calculator.value(of: nested))
print("found", await calculator.depth, "levels deep, on a thread of its own")

for text in ["1+(2+(3+4)", "1+x", "(1)2"] {
  do {
    print(text, "is", try await calculator.value(of: text))
  } catch let error as SyntaxError {
    print(text, "has \(error.problem) at \(error.offset)")
  }
}
