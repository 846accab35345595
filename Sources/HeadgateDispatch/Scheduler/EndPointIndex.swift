// Where an end-point stands in the table: open addressing with linear probing and deletion by shifting back.
// D. E. Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithms L and R.
//
// Rejected: a dictionary, which hashes the end-point's hash once more for each request. That hash was made with the
// process's own seed, so a server can't choose names that collide.

/// The places of end-points by their hashes. The end-points themselves stand in the table, which compares them.
struct EndPointIndex: Sendable {
  private struct Cell: Sendable {
    var hash = 0
    // -1: empty.
    var slot: Int32 = -1
  }

  private var cells: [Cell] = []
  private var mask = -1
  private(set) var count = 0

  /// The place of the end-point with this hash for which `matches` says yes; nil when there is none.
  func find(_ hash: Int, _ matches: (Int32) -> Bool) -> Int32? {
    guard count > 0 else { return nil }
    var at = hash & mask
    while cells[at].slot >= 0 {
      if cells[at].hash == hash, matches(cells[at].slot) { return cells[at].slot }
      at = (at + 1) & mask
    }
    return nil
  }

  /// Adds one that is not there.
  mutating func insert(_ hash: Int, _ slot: Int32) {
    // At most half full, so that a look-up sees one or two cells.
    if (count + 1) * 2 > cells.count { resize(to: max(16, cells.count * 2)) }
    place(Cell(hash: hash, slot: slot))
    count += 1
  }

  /// Takes one out that is there.
  mutating func remove(_ hash: Int, _ slot: Int32) {
    var hole = hash & mask
    while cells[hole].slot != slot { hole = (hole + 1) & mask }
    count -= 1
    var next = (hole + 1) & mask
    while cells[next].slot >= 0 {
      // A cell may move back into the hole unless its home lies between the two.
      let home = cells[next].hash & mask
      if (next - home) & mask >= (next - hole) & mask {
        cells[hole] = cells[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    cells[hole] = Cell()
    if cells.count > 4096, count * 8 < cells.count { resize(to: cells.count / 4) }
  }

  private mutating func place(_ cell: Cell) {
    var at = cell.hash & mask
    while cells[at].slot >= 0 { at = (at + 1) & mask }
    cells[at] = cell
  }

  private mutating func resize(to size: Int) {
    let old = cells
    cells = Array(repeating: Cell(), count: size)
    mask = size - 1
    for cell in old where cell.slot >= 0 { place(cell) }
  }
}
