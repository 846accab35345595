import HeadgateLibC
import HeadgateThreads

/// An open file, a range of which is sent. Its methods block.
final class BodyFile: Sendable {
  /// The number of bytes read at once.
  static let pieceSize: Int64 = 256 * 1024

  /// The number of bytes to send.
  var length: Int64 { end - start }

  private let start: Int64
  private let end: Int64
  // The whole file is sent, so its length must not change.
  private let isWhole: Bool
  private let path: String
  private let descriptor: Int32

  init(_ path: String, _ range: Range<Int64>?) throws(RequestBodyError) {
    // Without `O_NONBLOCK`, opening a pipe would wait for a writer.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw RequestBodyError(.unreadable, path: path, errno: errno) }
    self.path = path
    self.descriptor = descriptor
    isWhole = range == nil
    let size: Int64
    do throws(RequestBodyError) {
      size = try Self.size(of: descriptor, path)
    } catch {
      close(descriptor)
      throw error
    }
    (start, end) = (range?.lowerBound ?? 0, range?.upperBound ?? size)
    // If this throws, `deinit` closes the descriptor.
    guard start >= 0, end <= size else { throw RequestBodyError(.outOfRange, path: path, found: size, expected: end) }
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
    if next == end, isWhole {
      let size = try Self.size(of: descriptor, path)
      guard size == end else {
        throw RequestBodyError(size > end ? .grew : .shrank, path: path, found: size, expected: end)
      }
    }
    return (bytes, next == end)
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

  private static func size(of descriptor: Int32, _ path: String) throws(RequestBodyError) -> Int64 {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw RequestBodyError(.unreadable, path: path, errno: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw RequestBodyError(.notAFile, path: path) }
    return Int64(status.st_size)
  }
}

extension RequestBody {
  /// Opens the body as a source: on the calling thread, or for a file on a file thread.
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
    case .file(let path, let range):
      let lane = SerialLane(on: FileSink.crew)
      lane.run {
        do throws(RequestBodyError) {
          let file = try BodyFile(path, range)
          completion(
            .success(
              RequestBodySource(pump(file.length), report) { .pieces(on: lane) { try file.piece(at: $0) } }))
        } catch {
          completion(.failure(DispatchError(body: error)))
        }
      }
    }
  }
}
