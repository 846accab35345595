import HeadgateDispatch
import Testing

@testable import HeadgateCommand

@Suite struct NameWaitsTests {
  @Test func `Names are counted while URLs wait for them, and shown in order`() throws {
    let waits = NameWaits()
    let (a, b) = (try EndPoint(host: "a.test", port: 80), try EndPoint(host: "b.test", port: 8080))
    for endPoint in [b, a, b] { waits.enter(endPoint) }
    #expect(waits.count == 3)
    #expect(waits.description == "a.test:80  waiting 1: name look-up\nb.test:8080  waiting 2: name look-up\n")
    waits.leave(b)
    waits.leave(a)
    #expect(waits.description == "b.test:8080  waiting 1: name look-up\n")
    waits.leave(b)
    #expect(waits.count == 0 && waits.description.isEmpty)
  }

  @Test func `Ten names are shown, and the others are counted`() throws {
    let waits = NameWaits()
    for number in 10..<22 { waits.enter(try EndPoint(host: "h\(number).test", port: 80)) }
    let lines = waits.description.split(separator: "\n")
    #expect(lines.count == 11 && lines.last == "and 2 other names are looked up")
  }
}
