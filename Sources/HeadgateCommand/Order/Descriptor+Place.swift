import HeadgateDispatch
import HeadgateLibC

extension Descriptor {
  /// Writes all bytes at an offset in a file. Blocks.
  static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, at offset: Int) throws(SystemError) {
    var rest = bytes
    var place = offset
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(place)) }
      if count < 0 {
        let error = SystemError.last
        guard error.errno == EINTR else { throw error }
        continue
      }
      rest = rest.dropFirst(count)
      place += count
    }
  }

  /// Reads a whole range of a file. Blocks.
  ///
  /// - Throws: `EIO` if the file ends before.
  static func read(_ place: Range<Int>, of descriptor: Int32) throws(SystemError) -> [UInt8] {
    var bytes = try read(descriptor, at: place.lowerBound, atMost: place.count)
    while bytes.count < place.count {
      let more = try read(descriptor, at: place.lowerBound + bytes.count, atMost: place.count - bytes.count)
      guard !more.isEmpty else { throw SystemError(errno: EIO) }
      bytes += more
    }
    return bytes
  }
}
