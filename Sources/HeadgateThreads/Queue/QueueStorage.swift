// Where the elements of a queue stand: in a ring that goes round, or in blocks that follow one another.

import Synchronization

/// Rows of slots, without knowing what stands in them.
///
/// A short bounded queue has one row for ever; a tiny one has it beside its indices, so that an element and the news of
/// it come over in one line of memory. All others have blocks: the first word of a block names the next one; the
/// last taken block is kept for the next put, and all others go back to the system.
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
  /// Whether the slots stand in the owner's memory.
  let isNear: Bool

  // A longer ring is made of blocks, which costs nothing until it is used.
  private static let largestRing = 1 << 18
  private static let largestBlock = 1 << 13
  private static let slotsInBlock = 63

  /// - Parameters:
  ///   - capacity: The most elements; 0 needs no memory at all.
  ///   - stride: The bytes from one slot to the next.
  ///   - alignment: What a slot's address is a multiple of.
  ///   - room: Memory of the owner's for a few slots, aligned to 16 bytes.
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

  func turnPuts(_ puts: UnsafeMutablePointer<QueueEnd>) {
    switch kind {
    case .ring:
      puts.pointee.cursor = first
    case .blocks(let spare):
      let block =
        UnsafeMutableRawPointer(bitPattern: spare.pointee.exchange(0, ordering: .acquiring))
        ?? .allocate(byteCount: header + rowSize, alignment: alignment)
      // Read only after the index of the element that is put there next was: that publishes this word too.
      (puts.pointee.limit - rowSize - header).storeBytes(of: block, as: UnsafeMutableRawPointer.self)
      puts.pointee.cursor = block + header
      puts.pointee.limit = block + header + rowSize
    }
  }

  func turnTakes(_ takes: UnsafeMutablePointer<QueueEnd>) {
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

  /// Frees all rows. No element is left, so both ends stand in one row, which ends at `limit`.
  func destroy(limit: UnsafeMutableRawPointer) {
    if !isNear { (limit - rowSize - header).deallocate() }
    guard case .blocks(let spare) = kind else { return }
    UnsafeMutableRawPointer(bitPattern: spare.pointee.load(ordering: .acquiring))?.deallocate()
    spare.deinitialize(count: 1)
    spare.deallocate()
  }
}
