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

  deinit { memory.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  mutating func append(_ line: UnsafeRawBufferPointer) {
    if count + line.count > memory.count { grow(to: count + line.count) }
    if let to = memory.baseAddress, let from = line.baseAddress { memcpy(to + count, from, line.count) }
    count += line.count
  }

  mutating func removeAll() { count = 0 }

  private mutating func grow(to size: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * size, alignment: 1)
    larger.copyMemory(from: bytes)
    memory.deallocate()
    memory = larger
  }
}
