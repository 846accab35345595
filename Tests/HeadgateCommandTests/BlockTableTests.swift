import HeadgateTesting
import Testing

@testable import HeadgateCommand

/// Chains of blocks, compared with plain arrays of bytes.
@Suite struct BlockTableTests {
  /// A file in memory with queues of bytes in it, and a copy of each.
  private struct Model {
    var table: BlockTable
    var file: [UInt8] = []
    var chains = Array(repeating: BlockTable.Chain(), count: 4)
    var copies = Array(repeating: [UInt8](), count: 4)

    mutating func extend(_ index: Int, with bytes: [UInt8]) -> Bool {
      let before = (table.used, chains[index])
      guard let places = table.extend(&chains[index], by: bytes.count) else {
        #expect(table.used == before.0 && chains[index] == before.1)
        return false
      }
      var rest = bytes[...]
      for place in places {
        if file.count < place.upperBound { file += Array(repeating: 0, count: place.upperBound - file.count) }
        file.replaceSubrange(place, with: rest.prefix(place.count))
        rest = rest.dropFirst(place.count)
      }
      #expect(rest.isEmpty)
      copies[index] += bytes
      return true
    }

    mutating func undo(_ index: Int, from count: Int) {
      let earlier = chains[index]
      let used = table.used
      guard table.extend(&chains[index], by: count) != nil else { return }
      table.restore(&chains[index], to: earlier)
      #expect(table.used == used && chains[index] == earlier)
    }

    mutating func drop(_ index: Int, _ count: Int) {
      table.drop(count, from: &chains[index])
      copies[index].removeFirst(min(count, copies[index].count))
    }

    func check() {
      for (chain, copy) in zip(chains, copies) {
        #expect(chain.count == copy.count)
        #expect(table.front(of: chain, atMost: .max).flatMap { file[$0] } == copy)
        #expect(table.front(of: chain, atMost: 5000).flatMap { file[$0] } == Array(copy.prefix(5000)))
      }
      // No chain has more blocks than its bytes need, plus one at each end.
      let most = copies.reduce(0) { $0 + ($1.isEmpty ? 0 : ($1.count - 1) / BlockTable.blockSize + 2) }
      #expect(table.used <= most)
    }
  }

  @Test(arguments: 0..<10) func `Bytes are read back unchanged, independently of other chains`(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var model = Model(table: BlockTable(most: 40))
    var next: UInt8 = 0
    for _ in 0..<300 {
      let index = Int.random(in: 0..<4, using: &random)
      let count = Int.random(in: 0...(Bool.random(using: &random) ? 20_000 : 200), using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        next &+= 1
        _ = model.extend(index, with: Array(repeating: next, count: count))
      case 2: model.undo(index, from: count)
      case 3: model.drop(index, count)
      default: model.drop(index, BlockTable.blockSize)
      }
      model.check()
    }
    for index in 0..<4 { model.drop(index, .max) }
    #expect(model.table.used == 0)
    #expect(model.table.length <= 40)
    model.table.reset()
    #expect(model.table.length == 0)
  }

  @Test func `Adjacent blocks form one write, and freed blocks are reused`() {
    var table = BlockTable(most: 3)
    var chain = BlockTable.Chain()
    #expect(table.extend(&chain, by: 2 * BlockTable.blockSize) == [0..<(2 * BlockTable.blockSize)])
    #expect(table.extend(&chain, by: BlockTable.blockSize + 1) == nil)
    table.drop(BlockTable.blockSize, from: &chain)
    #expect(table.extend(&chain, by: 2 * BlockTable.blockSize) != nil)
    #expect(table.used == 3)
  }
}
