import CHeadgate
import Synchronization

/// How long those who wait at one end look before they sleep: as long as that may pay.
///
/// A partner on another processor answers within a microsecond or two, and looking is much cheaper than a sleep. One that
/// shares our processor can't answer before we sleep. Where the partner was last seen on our processor and looking was in
/// vain before, the time is halved, and halved again, down to a sixteenth; every eighth try is a whole one, to see
/// whether times have changed.
// Unchecked: the pointers are constant, what they point to is atomic, and the owner of the memory outlives us.
@usableFromInline struct SpinPatience: @unchecked Sendable {
  /// The bytes that it takes.
  static let size = 16

  /// How often in a row it was in vain. Racing updates may get lost: it is a guess.
  private let failures: UnsafeMutablePointer<AtomicCell<UInt>>
  /// The processor that one of ours was on when it last began to look, or had to wake somebody.
  private let processor: UnsafeMutablePointer<AtomicCell<Int>>

  init(at address: UnsafeMutableRawPointer) {
    failures = address.initializeMemory(as: AtomicCell<UInt>.self, to: AtomicCell(0))
    processor = (address + 8).initializeMemory(as: AtomicCell<Int>.self, to: AtomicCell(-1))
  }

  /// Ends the memory that it was made in.
  func destroy() {
    failures.deinitialize(count: 1)
    processor.deinitialize(count: 1)
  }

  /// Takes down where one of ours is. Its number.
  @discardableResult
  func noteProcessor() -> Int {
    #if HEADGATE_EXPLORE
    // A script must do the same in each run, wherever it runs.
    let here = 0
    #else
    let here = Int(headgate_processor())
    #endif
    // A store would take the line away from others each time.
    if processor.pointee.load(ordering: .relaxed) != here { processor.pointee.store(here, ordering: .relaxed) }
    return here
  }

  /// Looks for some microseconds at most. True once `isReady` said so.
  ///
  /// - Parameters:
  ///   - other: Those at the other end.
  ///   - pauses: How long to wait before the first look. Each look takes a line of memory away from who is at work at
  ///     the other end: in a stream it is better to come late, when a batch is there.
  ///   - isReady: What to look for.
  func spin(for other: SpinPatience, after pauses: Int = 0, until isReady: () -> Bool) -> Bool {
    guard SpinBudget.queue > 0 else { return false }
    let inVain = failures.pointee.load(ordering: .relaxed)
    let here = noteProcessor()
    let isShared = here >= 0 && other.processor.pointee.load(ordering: .relaxed) == here
    let halvings = isShared && inVain % 8 != 7 ? min(inVain, 4) : 0
    for _ in 0..<(pauses >> halvings) { spinPause() }
    for _ in 0..<(SpinBudget.queue >> halvings) {
      if isReady() {
        if inVain != 0 { failures.pointee.store(0, ordering: .relaxed) }
        return true
      }
      spinPause()
    }
    failures.pointee.store(inVain &+ 1, ordering: .relaxed)
    return false
  }
}
