#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Where the lines of a head are gathered, which libcurl brings one by one. It belongs to a handle and serves one head after
/// another, so that none allocates.
struct HeadBuffer: ~Copyable {
  // Owned by this struct, which nobody can copy: allocated in `init` and `append`, freed in `deinit`. The first `count`
  // bytes are set.
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 1)
  private(set) var count = 0
  /// How many lines are in it, folded ones counted as one.
  private(set) var lines = 0

  deinit { memory.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  mutating func append(_ line: UnsafeRawBufferPointer) {
    add(line)
    lines += 1
  }

  /// Adds a line to the one before it, with one space between the two.
  mutating func fold(_ line: UnsafeRawBufferPointer) {
    func isSpace(_ byte: UInt8) -> Bool { byte <= UInt8(ascii: " ") }
    while count > 0, isSpace(memory[count - 1]) { count -= 1 }
    let start = line.firstIndex { !isSpace($0) } ?? line.endIndex
    // One of nothing but space leaves the field as it is, and its line with an end.
    guard start < line.endIndex else { return withUnsafeBytes(of: Self.lineEnd) { add($0) } }
    withUnsafeBytes(of: UInt8(ascii: " ")) { add($0) }
    add(UnsafeRawBufferPointer(rebasing: line[start...]))
  }

  private static let lineEnd = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))

  private mutating func add(_ line: UnsafeRawBufferPointer) {
    if count + line.count > memory.count { grow(to: count + line.count) }
    if let to = memory.baseAddress, let from = line.baseAddress { memcpy(to + count, from, line.count) }
    count += line.count
  }

  mutating func removeAll() { (count, lines) = (0, 0) }

  private mutating func grow(to size: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * size, alignment: 1)
    larger.copyMemory(from: bytes)
    memory.deallocate()
    memory = larger
  }
}
