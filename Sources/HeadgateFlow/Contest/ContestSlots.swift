import CHeadgate

/// What the functions of a contest brought: a place for each, in one piece of memory, for a success or a failure.
///
/// `Contest`, which knows no values, says how each has ended, and with that what stands at its place. Nothing here counts
/// or checks that; and whoever made it lets go of the memory. So there is no object of a type that would have to be looked
/// up for each contest, and no count of references that all children change.
struct ContestSlots<Success: Sendable, Failure: Error>: Sendable {
  // Unchecked: a place is filled once, by the function whose place it is, before its end is told to the contest: by a
  // child task before it ends, or before the contest's lock is taken. It is emptied once, by whoever was told of that end
  // or, if the contest keeps it, by the one who takes the outcome; both are told after the end.
  private nonisolated(unsafe) let memory: UnsafeMutableRawPointer
  private let stride: Int
  /// Malloc's own alignment is enough.
  private let isAligned: Bool

  init(count: Int) {
    let alignment = max(MemoryLayout<Success>.alignment, MemoryLayout<Failure>.alignment)
    let size = max(MemoryLayout<Success>.size, MemoryLayout<Failure>.size, 1)
    stride = (size + alignment - 1) / alignment * alignment
    // Swift's own allocation asks posix_memalign for what malloc gives anyway, at twice the price.
    let bytes = max(count, 1) * stride
    isAligned = alignment <= 16
    memory = isAligned ? headgate_allocate(bytes) : .allocate(byteCount: bytes, alignment: alignment)
  }

  /// Once, when every place is empty: an outcome was taken, and what comes after it is emptied by the one who brings it.
  func deallocate() { if isAligned { headgate_free(memory) } else { memory.deallocate() } }

  private func success(_ index: Int) -> UnsafeMutablePointer<Success> {
    (memory + index * stride).assumingMemoryBound(to: Success.self)
  }

  private func failure(_ index: Int) -> UnsafeMutablePointer<Failure> {
    (memory + index * stride).assumingMemoryBound(to: Failure.self)
  }

  // MARK: Filling

  @discardableResult
  func putSuccess(_ value: consuming Success, at index: Int) -> ContestEnd {
    success(index).initialize(to: value)
    return .success
  }

  @discardableResult
  func putFailure(_ error: consuming Failure, at index: Int) -> ContestEnd {
    failure(index).initialize(to: error)
    return .failure
  }

  // MARK: Emptying

  func takeSuccess(_ index: Int) -> Success { success(index).move() }

  func takeFailure(_ index: Int) -> Failure { failure(index).move() }

  /// Empties a place that nobody needs.
  func drop(_ index: Int, _ end: ContestEnd, _ discard: ((Success) -> Void)?) {
    switch end {
    case .success:
      let value = success(index).move()
      discard?(value)
    case .failure: failure(index).deinitialize(count: 1)
    case .missing: break
    }
  }

  /// Whether a success that stands there is what is looked for.
  func matches(_ index: Int, _ predicate: (Success) -> Bool) -> Bool { predicate(success(index).pointee) }
}
