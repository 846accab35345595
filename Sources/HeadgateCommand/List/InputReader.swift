import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Cuts input that comes in pieces into items: lines of a list, or rows.
protocol InputCutter<Item>: Sendable {
  associatedtype Item: Sendable

  /// The items that end in this piece.
  mutating func cut(_ piece: [UInt8]) -> [Item]
  /// The last item, if the input does not end with a line feed.
  mutating func finish() -> [Item]
  /// How many lines have ended.
  var lines: Int { get }
}

/// Reads input as it is needed, on a thread of its own. In memory are the items of one piece, and one that is not
/// whole; those of a pipe are there as soon as they are written.
final class InputReader<Item: Sendable>: Sendable {
  /// What the input is called in messages.
  let name: String
  private let descriptor: Int32
  private let isOwner: Bool
  let stop: StopSignal
  private let lane = SerialLane(on: InputThread.crew)
  private let text: Locked<InputText<Item>>

  /// Opens a file; `-` is the standard input.
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

  /// Whether it reads the file of this path.
  func reads(_ path: String) -> Bool {
    var (own, other) = (stat(), stat())
    return fstat(descriptor, &own) == 0 && stat(path, &other) == 0 && own.st_mode & S_IFMT == S_IFREG
      && own.st_dev == other.st_dev && own.st_ino == other.st_ino
  }

  /// The next items, as many as one piece brings; the end also once the stop signal is raised.
  func next() async throws(SystemError) -> InputPiece<Item> {
    try await lane.perform { [self] () throws(SystemError) in
      if !stop.isRaised, let piece = text.withLock({ $0.next() }) { return piece }
      if Descriptor.wait(for: descriptor, Int32(POLLIN), orFor: stop.descriptor) { return .end }
      return try readPiece()
    }
  }

  /// The number of items that are left, when a run stops before the end; nil where only reading would tell and may
  /// never end, as from a pipe.
  ///
  /// - Parameter isWanted: Asked before each piece; false ends the counting, with nil.
  func countRest(while isWanted: @escaping @Sendable () -> Bool) async -> Int? {
    guard Descriptor.isRegularFile(descriptor) else { return text.withLock { $0.isAtEnd } ? 0 : nil }
    do throws(SystemError) {
      return try await lane.perform { [self] () throws(SystemError) in
        var count = 0
        while isWanted() {
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
    let bytes = try Descriptor.read(descriptor, atMost: InputThread.pieceSize)
    return text.withLock { $0.take(bytes) }
  }
}

/// The thread that all readers share.
private enum InputThread {
  static let pieceSize = 64 * 1024
  static let crew = LaneCrew(name: "headgate-input", size: 1)
}
