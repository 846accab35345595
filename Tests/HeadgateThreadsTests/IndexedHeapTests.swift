import Testing

@testable import HeadgateThreads

@Suite struct IndexedHeapTests {
  @Test("P70 random inserts, removals and pops against a sorted array", arguments: [1, 2, 3, 4] as [UInt64])
  func model(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var heap = IndexedHeap<Int>()
    var keys: [Int32: Int] = [:]
    var sorted: [Int] = []
    // Few keys make many equal ones.
    let range = seed % 2 == 0 ? 0..<4 : 0..<1_000_000
    for step in 0..<4000 {
      switch Int.random(in: 0..<(step % 1000 < 500 ? 4 : 8), using: &random) {
      case 0...2:
        let key = Int.random(in: range, using: &random)
        let handle = heap.insert(key)
        #expect(keys.updateValue(key, forKey: handle) == nil, "a handle in use was given out again")
        sorted.insert(key, at: sorted.firstIndex { $0 > key } ?? sorted.count)
      case 3, 4:
        guard let handle = keys.keys.sorted().randomElement(using: &random) else { continue }
        let key = heap.remove(handle)
        #expect(key == keys.removeValue(forKey: handle))
        if let place = sorted.firstIndex(of: key) { sorted.remove(at: place) }
      default:
        guard let first = heap.min else { continue }
        #expect(heap.remove(first.handle) == sorted.removeFirst())
        #expect(keys.removeValue(forKey: first.handle) == first.key)
      }
      heap.checkInvariants()
      #expect(heap.count == sorted.count)
      #expect(heap.isEmpty == sorted.isEmpty)
      #expect(heap.min?.key == sorted.first)
    }
  }

  @Test("Any handle can be removed from a heap of any size")
  func anyHandle() {
    for size in 1...40 {
      for victim in 0..<size {
        var random = SeededRandom(seed: UInt64(size * 100 + victim))
        var heap = IndexedHeap<Int>()
        let keys = (0..<size).map { _ in Int.random(in: 0..<size, using: &random) }
        let handles = keys.map { heap.insert($0) }
        #expect(heap.remove(handles[victim]) == keys[victim])
        heap.checkInvariants()
        var rest = keys
        rest.remove(at: victim)
        #expect(drain(&heap) == rest.sorted())
      }
    }
  }

  @Test("P74 100,000 entries, a third of them removed again, are returned in order")
  func many() {
    var random = SeededRandom(seed: 74)
    var heap = IndexedHeap<UInt64>()
    var handles: [(handle: Int32, key: UInt64)] = []
    for _ in 0..<100_000 {
      let key = random.next()
      handles.append((heap.insert(key), key))
    }
    heap.checkInvariants()
    handles.shuffle(using: &random)
    for (handle, key) in handles.prefix(33_333) where heap.remove(handle) != key {
      Issue.record("the handle \(handle) had another's key")
    }
    heap.checkInvariants()
    #expect(heap.count == 66_667)
    #expect(drain(&heap) == handles.dropFirst(33_333).map(\.key).sorted())
  }

  @Test(
    "P25 an emptied heap frees its memory, and a small one keeps its own",
    arguments: [1000, 1024, 1025, 100_000]
  )
  func memory(count: Int) {
    var heap = IndexedHeap<Int>()
    for round in 0..<2 {
      for key in 0..<count { _ = heap.insert(key) }
      #expect(capacities(heap).allSatisfy { $0 >= count })
      while let first = heap.min { heap.remove(first.handle) }
      heap.checkInvariants()
      if count > 1024 {
        #expect(capacities(heap).allSatisfy { $0 == 0 }, "round \(round)")
      } else {
        #expect(capacities(heap).allSatisfy { $0 >= count }, "round \(round)")
      }
    }
  }

  private func drain<Key>(_ heap: inout IndexedHeap<Key>) -> [Key] {
    var keys: [Key] = []
    while let first = heap.min { keys.append(heap.remove(first.handle)) }
    return keys
  }

  // Of the two arrays of a heap of Ints.
  private func capacities(_ heap: IndexedHeap<Int>) -> [Int] {
    let capacities = Mirror(reflecting: heap).children.compactMap { _, value in
      (value as? [IndexedHeap<Int>.Entry])?.capacity ?? (value as? [Int32])?.capacity
    }
    #expect(capacities.count == 2)
    return capacities
  }
}

extension IndexedHeap {
  /// Traps if the heap order or a handle is wrong.
  fileprivate func checkInvariants() {
    for (place, entry) in entries.enumerated() {
      precondition(Int(places[Int(entry.handle)]) == place)
      if place > 0 { precondition(!(entry.key < entries[(place - 1) / 4].key)) }
    }
    var free = 0
    var next = firstFree
    while next >= 0 {
      free += 1
      next = -2 - places[Int(next)]
    }
    precondition(free + entries.count == places.count)
  }
}
