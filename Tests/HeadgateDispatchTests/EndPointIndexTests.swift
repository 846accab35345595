import HeadgateTesting
import Testing

@testable import HeadgateDispatch

/// The hash table of end-points against a dictionary, with hashes that collide as often as they like.
@Suite struct EndPointIndexTests {
  @Test("random insertions and removals leave what a dictionary has", arguments: [1, 8, 1 << 30])
  func randomOperations(hashes: Int) {
    var random = SeededRandom(seed: UInt64(hashes))
    var index = EndPointIndex()
    var model: [Int32: Int] = [:]
    var slots: [Int32] = []
    for turn in 0..<20_000 {
      // Grows, shrinks, grows again.
      let grows = Int.random(in: 0..<10, using: &random) < (turn / 4000 % 2 == 0 ? 7 : 3)
      if grows || slots.isEmpty {
        let slot = Int32(turn)
        let hash = Int.random(in: 0..<hashes, using: &random)
        index.insert(hash, slot)
        model[slot] = hash
        slots.append(slot)
      } else {
        let at = Int.random(in: 0..<slots.count, using: &random)
        slots.swapAt(at, slots.count - 1)
        let slot = slots.removeLast()
        guard let hash = model.removeValue(forKey: slot) else { continue }
        index.remove(hash, slot)
        #expect(index.find(hash) { $0 == slot } == nil)
      }
      if hashes == 1, slots.count > 200 {
        for slot in slots.prefix(100) { index.remove(0, slot) }
        for slot in slots.prefix(100) { model[slot] = nil }
        slots.removeFirst(100)
      }
    }
    #expect(index.count == model.count)
    for (slot, hash) in model { #expect(index.find(hash) { $0 == slot } == slot) }
    #expect(index.find(Int.max) { _ in true } == nil)
  }
}
