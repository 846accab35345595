import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateCurl

/// The names that were requested, as a value.
@Suite struct NameTableTests {
  private static let found = NameAnswer.addresses(["192.0.2.1", "2001:db8::1"])
  private static let absent = NameAnswer.failed(NameFailure(detail: "no such name", isAuthoritative: true))
  private static let failed = NameAnswer.failed(NameFailure(detail: "try again", isAuthoritative: false))

  private let start = Deadline.now

  private func after(_ seconds: Double) -> Deadline { start + .milliseconds(Int(seconds * 1000)) }

  private func begins(_ reply: NameTable<Int>.Reply) -> Bool {
    if case .begins = reply { return true }
    return false
  }

  private func known(_ reply: NameTable<Int>.Reply) -> NameAnswer? {
    if case .known(let answer) = reply { return answer }
    return nil
  }

  @Test func `One look-up per name, and one answer for all waiters`() {
    var table = NameTable<Int>(atOnce: 2)
    #expect(begins(table.ask("a", 1, at: start)))
    #expect(!begins(table.ask("a", 2, at: start)))
    #expect(begins(table.ask("b", 3, at: start)))
    // Beyond the bound they wait for a look-up to end.
    #expect(!begins(table.ask("c", 4, at: start)))
    let ended = table.answered("a", Self.found, at: start)
    #expect(ended.waiters == [1, 2])
    #expect(ended.next == "c")
    #expect(known(table.ask("a", 5, at: start)) == Self.found)
    #expect(table.answered("b", Self.absent, at: start).next == nil)
    #expect(table.running == 1)
  }

  @Test(
    arguments: [(NameTableTests.found, 60.0), (NameTableTests.absent, 30.0), (NameTableTests.failed, 1.0)]
      as [(NameAnswer, Double)]) func `Each answer has its time`(
      answer: NameAnswer, seconds: Double
    )
  {
    var table = NameTable<Int>(atOnce: 1)
    _ = table.ask("a", 1, at: start)
    _ = table.answered("a", answer, at: start)
    #expect(table.answer(for: "a", at: after(seconds - 0.01)) == answer)
    #expect(table.answer(for: "a", at: after(seconds)) == nil)
    #expect(known(table.ask("a", 2, at: after(seconds - 0.01))) == answer)
    #expect(begins(table.ask("a", 3, at: after(seconds))))
  }

  @Test func `Memory is bounded`() {
    var table = NameTable<Int>(atOnce: 1, mostKept: 10)
    for number in 0..<100 {
      _ = table.ask("\(number)", number, at: start)
      _ = table.answered("\(number)", Self.found, at: start)
    }
    #expect(table.count == 10)
    #expect(table.answer(for: "99", at: start) == Self.found)
    #expect(table.answer(for: "0", at: start) == nil)
    // Expired answers are replaced by the next one.
    _ = table.ask("x", 0, at: after(61))
    _ = table.answered("x", Self.found, at: after(61))
    #expect(table.count == 1)
  }

  @Test(arguments: 0..<10)
  func `Any order of events: each waiter gets one answer, and no name is looked up twice at once`(
    seed: Int
  ) {
    var random = SeededRandom(seed: UInt64(seed))
    var table = NameTable<Int>(atOnce: 3, mostKept: 4)
    var (running, waiting): (Set<String>, [String: [Int]]) = ([], [:])
    var (now, next, answers) = (0.0, 0, 0)
    func end(_ name: String) {
      let answer = [Self.found, Self.absent, Self.failed].randomElement(using: &random) ?? Self.found
      running.remove(name)
      let ended = table.answered(name, answer, at: after(now))
      #expect(ended.waiters == waiting.removeValue(forKey: name))
      answers += ended.waiters.count
      if let next = ended.next {
        #expect(waiting[next] != nil)
        #expect(running.insert(next).inserted)
      }
      #expect(table.answer(for: name, at: after(now)) == answer)
    }
    for _ in 0..<2000 {
      now += Double.random(in: 0..<2, using: &random)
      if Bool.random(using: &random) {
        let name = "\(Int.random(in: 0..<8, using: &random))"
        next += 1
        switch table.ask(name, next, at: after(now)) {
        case .known:
          #expect(waiting[name] == nil)
          answers += 1
        case .waits: waiting[name, default: []].append(next)
        case .begins:
          #expect(waiting[name] == nil && running.insert(name).inserted)
          waiting[name] = [next]
        }
      } else if let name = running.sorted().randomElement(using: &random) {
        end(name)
      }
      #expect(running.count == table.running && running.count <= 3)
      // While there is room, no name waits for its look-up.
      #expect(running.count == 3 || running.count == waiting.count)
    }
    while let name = running.first { end(name) }
    #expect(answers == next)
  }
}
