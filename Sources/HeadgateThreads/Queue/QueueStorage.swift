// Storage for a queue's elements: a ring, or a chain of blocks.

import Synchronization

/// Rows of untyped slots.
///
/// A short bounded queue has a single row for its whole life. A tiny one stores it beside its indices, so that an
/// element and its index share a cache line. All other queues use blocks. The first word of a block points to the next
/// one. The last emptied block is kept for the next put; all others are freed.
@usableFromInline
struct QueueStorage {
  private enum Kind {
    case ring
    case blocks(spare: UnsafeMutablePointer<AtomicCell<UInt>>)
  }

  private let kind: Kind
  private let first: UnsafeMutableRawPointer
  private let header: Int
  private let rowSize: Int
  private let alignment: Int
  /// Whether the slots are in the owner's memory.
  let isNear: Bool

  // A longer queue uses blocks, which cost nothing until they are used.
  private static let largestRing = 1 << 18
  private static let largestBlock = 1 << 13
  private static let slotsInBlock = 63

  /// - Parameters:
  ///   - capacity: The maximum number of elements; 0 needs no memory.
  ///   - stride: The distance between two slots, in bytes.
  ///   - alignment: The alignment of a slot, in bytes.
  ///   - room: Memory of the owner for a few slots, aligned to 16 bytes.
  init(capacity: UInt, stride: Int, alignment: Int, room: UnsafeMutableRawBufferPointer) {
    let slots: Int
    if capacity <= UInt(QueueStorage.largestRing / stride) {
      header = 0
      slots = Int(capacity)
      kind = .ring
    } else {
      header = max(MemoryLayout<UnsafeMutableRawPointer?>.size, alignment)
      slots = max(1, min(QueueStorage.slotsInBlock, QueueStorage.largestBlock / stride))
      let spare = UnsafeMutablePointer<AtomicCell<UInt>>.allocate(capacity: 1)
      spare.initialize(to: AtomicCell(0))
      kind = .blocks(spare: spare)
    }
    self.alignment = max(MemoryLayout<UnsafeMutableRawPointer?>.alignment, alignment)
    rowSize = slots * stride
    if case .ring = kind, rowSize <= room.count, alignment <= 16, let base = room.baseAddress {
      isNear = true
      first = base
    } else {
      isNear = false
      first = .allocate(byteCount: header + rowSize, alignment: self.alignment)
    }
  }

  /// The first slot, and the end of its row.
  var start: (cursor: UnsafeMutableRawPointer, limit: UnsafeMutableRawPointer) {
    (first + header, first + header + rowSize)
  }

  func turnPuts(_ puts: UnsafeMutablePointer<EndState>) {
    switch kind {
    case .ring:
      puts.pointee.cursor = first
    case .blocks(let spare):
      let block =
        UnsafeMutableRawPointer(bitPattern: spare.pointee.exchange(0, ordering: .acquiring))
        ?? .allocate(byteCount: header + rowSize, alignment: alignment)
      // Takers read this word only after the index of the next element stored there, which also publishes this word.
      (puts.pointee.limit - rowSize - header).storeBytes(of: block, as: UnsafeMutableRawPointer.self)
      puts.pointee.cursor = block + header
      puts.pointee.limit = block + header + rowSize
    }
  }

  func turnTakes(_ takes: UnsafeMutablePointer<EndState>) {
    switch kind {
    case .ring:
      takes.pointee.cursor = first
    case .blocks(let spare):
      let old = takes.pointee.limit - rowSize - header
      let block = old.load(as: UnsafeMutableRawPointer.self)
      takes.pointee.cursor = block + header
      takes.pointee.limit = block + header + rowSize
      let previous = spare.pointee.exchange(UInt(bitPattern: old), ordering: .acquiringAndReleasing)
      UnsafeMutableRawPointer(bitPattern: previous)?.deallocate()
    }
  }

  /// Frees all rows. The queue is empty, so both ends are in the same row, which ends at `limit`.
  func destroy(limit: UnsafeMutableRawPointer) {
    if !isNear { (limit - rowSize - header).deallocate() }
    guard case .blocks(let spare) = kind else { return }
    UnsafeMutableRawPointer(bitPattern: spare.pointee.load(ordering: .acquiring))?.deallocate()
    spare.deinitialize(count: 1)
    spare.deallocate()
  }
}
