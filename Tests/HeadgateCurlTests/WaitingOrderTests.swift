import HeadgateTesting
import Testing

@testable import HeadgateCurl

/// The orders in which exchanges wait and connections are idle, against arrays.
@Suite struct WaitingOrderTests {
  private final class Node: IdleNode {
    let number: Int
    var idleLinks = IdleLinks<Node>()

    init(_ number: Int) { self.number = number }
  }

  @Test("members leave from any place and are promoted by their routes, in the order of a list", arguments: 0..<20)
  func waiting(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var members = WaitingMembers<Int, Int>()
    var model: [(member: Int, route: Int)] = []
    for event in 0..<2_000 {
      let (member, route) = (Int.random(in: 0..<30, using: &random), Int.random(in: 0..<4, using: &random))
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        model.removeAll { $0.member == member }
        model.append((member, route))
        members.append(member, offers: false, on: route)
      case 4:
        model.removeAll { $0.member == member }
        model.insert((member, route), at: 0)
        members.prepend(member, offers: false, on: route)
      case 5..<7:
        model.removeAll { $0.member == member }
        members.remove(member)
      case 7:
        let index = model.firstIndex { $0.route == route }
        if let index { model.insert(model.remove(at: index), at: 0) }
        let first = members.first(for: route)
        #expect((first == nil) == (index == nil))
        if let first { members.promote(first) }
      default:
        if let first = model.first {
          members.remove(first.member)
          model.removeFirst()
        }
      }
      #expect(members.first?.member == model.first?.member, "seed \(seed), event \(event)")
      #expect(members.isEmpty == model.isEmpty)
      #expect((0..<4).allSatisfy { route in members.contains(route) == model.contains { $0.route == route } })
    }
  }

  @Test("the first of the idle connections is the one that has been idle for the longest time", arguments: 0..<20)
  func idle(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var list = IdleList<Node>()
    var model: [Node] = []
    let nodes = (0..<20).map { Node($0) }
    for event in 0..<2_000 {
      let node = nodes[Int.random(in: 0..<20, using: &random)]
      if let index = model.firstIndex(where: { $0 === node }) {
        model.remove(at: index)
        list.remove(node)
      } else if Bool.random(using: &random) {
        model.append(node)
        list.append(node)
      } else {
        list.remove(node)
      }
      #expect(list.first === model.first, "seed \(seed), event \(event)")
      #expect(model.map(\.idleLinks.number) == model.map(\.idleLinks.number).sorted())
    }
  }
}
