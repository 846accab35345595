import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// Cuts input that arrives in pieces into items: the lines of a list, or rows.
protocol InputCutter<Item>: Sendable {
  associatedtype Item: Sendable

  /// The items that end in this piece.
  mutating func cut(_ piece: [UInt8]) -> [Item]
  /// The last item, if the input does not end with a line feed.
  mutating func finish() -> [Item]
  /// How many lines have ended.
  var lines: Int { get }
}

/// Reads input on demand, on its own thread. It holds in memory the items of one piece and one incomplete item. The
/// items of a pipe are available as soon as they are written.
final class InputReader<Item: Sendable>: Sendable {
  /// The name of the input in messages.
  let name: String
  private let descriptor: Int32
  private let isOwner: Bool
  let stop: StopSignal
  private let lane = SerialLane(on: InputThread.crew)
  private let text: Locked<InputText<Item>>
  private let pieceSize = Locked(InputThread.pieceSizes.lowerBound)

  /// Opens a file. `-` is standard input.
  init(
    _ path: String, standardInput: Int32 = 0, cutter: any InputCutter<Item>, stop: StopSignal
  ) throws(SystemError) {
    isOwner = path != "-"
    name = path == "-" ? "standard input" : path
    descriptor = path == "-" ? standardInput : try Descriptor.openForReading(path)
    text = Locked(InputText(cutter))
    self.stop = stop
  }

  deinit { if isOwner { Descriptor.close(descriptor) } }

  /// Whether it reads the regular file at this path.
  func reads(_ path: String) -> Bool {
    var (own, other) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && stat(path, &other) == 0 && own.st_mode & S_IFMT == S_IFREG
      && own.st_dev == other.st_dev && own.st_ino == other.st_ino
  }

  /// Returns the items of the next piece. At the end, and after the stop signal, it returns ``InputPiece/end``.
  func next() async throws(SystemError) -> InputPiece<Item> {
    try await lane.perform { [self] () throws(SystemError) in
      if !stop.isRaised, let piece = text.withLock({ $0.next() }) { return piece }
      if Descriptor.wait(for: descriptor, Int32(POLLIN), orFor: stop.descriptor) { return .end }
      return try readPiece()
    }
  }

  /// The number of remaining items, when a run stops early. Nil for a pipe, whose end may never come.
  ///
  /// - Parameter isWanted: Called before each piece. False ends the count with nil.
  func countRest(while isWanted: @escaping @Sendable () -> Bool) async -> Int? {
    guard Descriptor.isRegularFile(descriptor) else { return text.withLock { $0.isAtEnd } ? 0 : nil }
    do throws(SystemError) {
      return try await lane.perform { [self] () throws(SystemError) in
        var count = 0
        while text.withLock({ $0.isAtEnd }) || isWanted() {
          guard case .items(let items) = try readPiece() else { return count }
          count += items.count
        }
        return nil
      }
    } catch {
      return nil
    }
  }

  private func readPiece() throws(SystemError) -> InputPiece<Item> {
    if let piece = text.withLock({ $0.next() }) { return piece }
    let size = pieceSize.withLock { size in
      defer { size = min(2 * size, InputThread.pieceSizes.upperBound) }
      return size
    }
    let bytes = try Descriptor.read(descriptor, atMost: size)
    return text.withLock { $0.take(bytes) }
  }
}

/// The thread of all readers.
private enum InputThread {
  /// A small first piece lets requests begin at once. Each further one is twice as large.
  static let pieceSizes = 4 * 1024...64 * 1024
  static let crew = LaneCrew(name: "headgate-input", size: 1)
}
