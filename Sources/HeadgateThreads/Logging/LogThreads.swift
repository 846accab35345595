import CHeadgate
import Logging

/// What swift-log is told of the threads that have told something lately: made anew for each line it would cost more than
/// all the rest of that.
///
/// So many places and no more, however many threads there are. A name that Headgate sets counts at once; one that the
/// program gives a thread by the system's own call is seen within a second.
struct LogThreads {
  /// A thread's name as two words, or its number where it has none.
  struct Tag: Equatable {
    fileprivate let low: UInt64
    fileprivate let high: UInt64

    /// That of the calling thread; nil if its name is longer than fifteen bytes.
    static var current: Tag? {
      var words: (UInt64, UInt64) = (0, 0)
      let fits = withUnsafeMutableBytes(of: &words) {
        headgate_log_thread_words($0.baseAddress?.assumingMemoryBound(to: UInt64.self)) != 0
      }
      guard fits else { return nil }
      // The second word's last byte is the end of the name: none has all bits of it set.
      return words.0 != 0 ? Tag(low: words.0, high: words.1) : Tag(low: UInt64(headgate_thread_number()), high: .max)
    }

    /// Where it stands: any spreading of names that differ by a number at their end will do.
    fileprivate var place: Int {
      let mixed = (low ^ high &* 0x9E37_79B9_7F4A_7C15) &* 0xFF51_AFD7_ED55_8CCD
      return Int(truncatingIfNeeded: mixed >> 60)
    }
  }

  private var places: [(tag: Tag, metadata: Logger.Metadata)?] = Array(repeating: nil, count: 16)

  func metadata(_ tag: Tag) -> Logger.Metadata? {
    guard let found = places[tag.place], found.tag == tag else { return nil }
    return found.metadata
  }

  /// Returns what stood in its place.
  mutating func keep(_ metadata: Logger.Metadata, for tag: Tag) -> Logger.Metadata? {
    defer { places[tag.place] = (tag, metadata) }
    return places[tag.place]?.metadata
  }
}
