import HeadgateThreads

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// An open file of which a range is sent. Its calls block.
final class BodyFile: Sendable {
  /// So much is read at once.
  static let pieceSize: Int64 = 256 * 1024

  /// How many bytes are sent.
  var length: Int64 { end - start }

  let start: Int64
  private let end: Int64
  // Sent to its end, wherever that is: then it must stay there.
  private let isWhole: Bool
  private let path: String
  private let descriptor: Int32

  init(_ path: String, _ range: Range<Int64>?) throws(RequestBodyError) {
    // Without the flag the opening of a pipe would wait for somebody who writes.
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
    // From here on `deinit` closes it.
    guard start >= 0, end <= size else { throw RequestBodyError(.outOfRange, path: path, found: size, expected: end) }
  }

  deinit { close(descriptor) }

  /// The piece that begins at an offset in the file, and whether it is the last one.
  func piece(at offset: Int64) throws(RequestBodyError) -> (bytes: [UInt8], isLast: Bool) {
    let count = Int(min(Self.pieceSize, end - offset))
    let bytes = try read(count, at: offset)
    let next = offset + Int64(bytes.count)
    guard bytes.count == count else { throw RequestBodyError(.shrank, path: path, found: next, expected: end) }
    // Looked into before the last piece goes out: after it the server would have taken the body for whole.
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

/// Reads a file piece by piece on the threads for files.
final class FileProducer: BodyProducer {
  private let file: BodyFile
  private let lane: SerialLane
  private let offset: Locked<Int64>

  init(_ file: BodyFile, _ lane: SerialLane) {
    self.file = file
    self.lane = lane
    offset = Locked(file.start)
  }

  func ask(_ feed: BodyFeed) {
    lane.run { [self] in
      do throws(RequestBodyError) {
        let offset = offset.withLock { $0 }
        let (bytes, isLast) = try file.piece(at: offset)
        self.offset.withLock { $0 = offset + Int64(bytes.count) }
        feed.put(bytes, last: isLast)
      } catch {
        feed.fail(error)
      }
    }
  }

  func stop() {}
}

extension RequestBody {
  /// Makes a source of it, on the calling thread or, for a file, on one for files.
  func open(
    _ report: UploadReport?, _ completion: @escaping @Sendable (Result<RequestBodySource, DispatchError>) -> Void
  ) {
    let canRewind = canBeSentAgain
    switch content {
    case .bytes(let bytes): completion(.success(RequestBodySource(bytes, canRewind: canRewind, report)))
    case .slices(let slices):
      completion(
        .success(
          RequestBodySource(length: Int64(slices.count), canRewind: canRewind, report) { SliceProducer(slices) }))
    case .sequence(let sequence):
      if let length = sequence.length, length < 0 {
        return completion(.failure(DispatchError(body: RequestBodyError(.tooLong, expected: length))))
      }
      completion(
        .success(
          RequestBodySource(length: sequence.length, canRewind: canRewind, report) { SequenceProducer(sequence) }))
    case .file(let path, let range):
      let lane = SerialLane(on: FileSink.crew)
      lane.run {
        do throws(RequestBodyError) {
          let file = try BodyFile(path, range)
          completion(
            .success(RequestBodySource(length: file.length, canRewind: canRewind, report) { FileProducer(file, lane) }))
        } catch {
          completion(.failure(DispatchError(body: error)))
        }
      }
    }
  }
}
