import HeadgateLibC
import HeadgateThreads

/// What is known of a file without reading it. A write changes this, unless it comes within the same tick of the file
/// system's clock as the write before.
struct FileState: Equatable, Sendable {
  let size: Int64
  private let device: UInt64
  private let inode: UInt64
  private let seconds: Int64
  private let nanoseconds: Int64

  init(_ status: stat) {
    #if canImport(Darwin)
    let modified = status.st_mtimespec
    #else
    let modified = status.st_mtim
    #endif
    size = Int64(status.st_size)
    (device, inode) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
    (seconds, nanoseconds) = (Int64(modified.tv_sec), Int64(modified.tv_nsec))
  }
}

/// An open file, a range of which is sent. Its methods block.
final class BodyFile: Sendable {
  /// The number of bytes read at once.
  static let pieceSize: Int64 = 256 * 1024

  /// The number of bytes to send.
  var length: Int64 { end - start }

  /// What the file was like when it was opened.
  let state: FileState
  private let start: Int64
  private let end: Int64
  // The whole file is sent, so it must not change.
  private let isWhole: Bool
  private let path: String
  private let descriptor: Int32

  /// - Parameter expected: What it must be like; nil if that does not matter.
  init(_ place: BodyPlace, _ range: Range<Int64>?, as expected: FileState? = nil) throws(RequestBodyError) {
    let path = place.path
    let descriptor = try place.open()
    self.path = path
    self.descriptor = descriptor
    isWhole = range == nil
    do throws(RequestBodyError) {
      state = try Self.state(of: descriptor, path)
    } catch {
      close(descriptor)
      throw error
    }
    (start, end) = (range?.lowerBound ?? 0, range?.upperBound ?? state.size)
    // If this throws, `deinit` closes the descriptor.
    guard start >= 0, end <= state.size else {
      throw RequestBodyError(.outOfRange, path: path, found: state.size, expected: end)
    }
    if let expected { try Self.mustBe(expected, state, path) }
  }

  deinit { close(descriptor) }

  /// The piece at an offset in the range, and whether it is the last one.
  func piece(at place: Int64) throws(RequestBodyError) -> (bytes: [UInt8], isLast: Bool) {
    let offset = start + place
    let count = Int(min(Self.pieceSize, end - offset))
    let bytes = try read(count, at: offset)
    let next = offset + Int64(bytes.count)
    guard bytes.count == count else { throw RequestBodyError(.shrank, path: path, found: next, expected: end) }
    // Checked before the last piece is sent: after it, the server would accept the body as complete.
    if next == end, isWhole { try Self.mustBe(state, Self.state(of: descriptor, path), path) }
    return (bytes, next == end)
  }

  private static func mustBe(
    _ expected: FileState, _ found: FileState, _ path: String
  ) throws(RequestBodyError) {
    guard found != expected else { return }
    let code: RequestBodyError.Code =
      found.size > expected.size ? .grew : found.size < expected.size ? .shrank : .changed
    throw RequestBodyError(code, path: path, found: found.size, expected: expected.size)
  }

  private func read(_ count: Int, at offset: Int64) throws(RequestBodyError) -> [UInt8] {
    var failed: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = pread(
          descriptor, buffer.baseAddress?.advanced(by: filled), count - filled, off_t(offset) + off_t(filled))
        if got == 0 { break }
        if got > 0 {
          filled += got
        } else if errno != EINTR {
          failed = errno
          break
        }
      }
    }
    guard failed == 0 else { throw RequestBodyError(.unreadable, path: path, errno: failed) }
    return bytes
  }

  private static func state(of descriptor: Int32, _ path: String) throws(RequestBodyError) -> FileState {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw RequestBodyError(.unreadable, path: path, errno: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw RequestBodyError(.notAFile, path: path) }
    return FileState(status)
  }
}

extension RequestBody {
  /// Opens the body as a source: on the calling thread, or for a file or a form on a file thread.
  func open(
    _ report: UploadReport?, _ completion: @escaping @Sendable (Result<RequestBodySource, DispatchError>) -> Void
  ) {
    @Sendable func pump(_ length: Int64?) -> BodyPump { BodyPump(length: length, isReplayable: canBeSentAgain) }
    switch content {
    case .bytes(let bytes):
      completion(.success(RequestBodySource(BodyPump(bytes, isReplayable: canBeSentAgain), report)))
    case .slices(let slices):
      completion(
        .success(RequestBodySource(pump(Int64(slices.count)), report) { .pieces { slices.piece(at: Int($0)) } }))
    case .sequence(let sequence):
      if let length = sequence.length, length < 0 {
        return completion(.failure(DispatchError(body: RequestBodyError(.tooLong, expected: length))))
      }
      completion(.success(RequestBodySource(pump(sequence.length), report) { .sequence(sequence) }))
    case .file(let place, let range):
      openOnLane(completion) { lane throws(RequestBodyError) in
        let file = try BodyFile(place, range)
        return RequestBodySource(pump(file.length), report) { .pieces(on: lane) { try file.piece(at: $0) } }
      }
    case .parts(let parts):
      openOnLane(completion) { lane throws(RequestBodyError) in
        let form = try OpenMultipart(parts)
        return RequestBodySource(pump(form.length), report) { .pieces(on: lane) { try form.piece(at: $0) } }
      }
    }
  }

  private func openOnLane(
    _ completion: @escaping @Sendable (Result<RequestBodySource, DispatchError>) -> Void,
    _ make: @escaping @Sendable (SerialLane) throws(RequestBodyError) -> RequestBodySource
  ) {
    let lane = SerialLane(on: FileSink.crew)
    lane.run {
      do throws(RequestBodyError) {
        completion(.success(try make(lane)))
      } catch {
        var error = error
        error.isBeforeSending = true
        completion(.failure(DispatchError(body: error)))
      }
    }
  }
}
