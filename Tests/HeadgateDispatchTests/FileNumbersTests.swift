import Foundation
import Testing

@testable import HeadgateDispatch

@Suite struct FileNumbersTests {
  @Test("eight thousand files of one name take a few attempts each, and use every number once")
  func linear() throws {
    let numbers = FileNumbers()
    var (taken, attempts) = (Set<Int>(), 0)
    for expected in 0..<8_000 {
      let number = try numbers.claim("/x", below: 1_000_000) { number throws(DispatchError) -> Int? in
        attempts += 1
        return taken.insert(number).inserted ? number : nil
      }
      #expect(number == expected)
    }
    #expect(attempts <= 8_000 * (FileNumbers.alwaysTried + 1))
  }

  @Test("numbers that others have taken meanwhile are skipped")
  func others() throws {
    let numbers = FileNumbers()
    var taken = Set(0..<100)
    func claim() throws -> Int? {
      try numbers.claim("/x", below: 1_000) { number throws(DispatchError) in
        taken.insert(number).inserted ? number : nil
      }
    }
    #expect(try claim() == 100)
    taken.formUnion(101..<150)
    #expect(try claim() == 150)
    // Only the lowest free number is looked for. Numbers of another name don't count.
    taken.remove(50)
    taken.remove(3)
    #expect(try claim() == 3)
    #expect(try claim() == 151)
    #expect(try numbers.claim("/y", below: 9) { number throws(DispatchError) in number } == 0)
  }

  @Test("at the end of all numbers a free one is searched for, with an error if there is none")
  func end() throws {
    let numbers = FileNumbers()
    var taken: Set<Int> = []
    func claim() throws -> Int? {
      try numbers.claim("/x", below: 20) { number throws(DispatchError) in
        taken.insert(number).inserted ? number : nil
      }
    }
    for _ in 0..<20 { #expect(try claim() != nil) }
    #expect(try claim() == nil)
    taken.remove(12)
    #expect(try claim() == 12)
    taken.remove(11)
    #expect(try claim() == 11)
  }

  @Test("with more names than are remembered, each still gets its number")
  func manyNames() throws {
    let numbers = FileNumbers()
    var taken: Set<String> = []
    for round in 0..<12 {
      for name in 0..<1_500 {
        let number = try numbers.claim("\(name)", below: 100) { number throws(DispatchError) in
          taken.insert("\(name).\(number)").inserted ? number : nil
        }
        #expect(number == round)
      }
    }
  }

  @Test("an error with a number ends the search")
  func failure() {
    var attempts = 0
    #expect(throws: DispatchError.self) {
      try FileNumbers().claim("/x", below: 100) { number throws(DispatchError) -> Int? in
        attempts += 1
        throw DispatchError(.fileFailed)
      }
    }
    #expect(attempts == 1)
  }
}
