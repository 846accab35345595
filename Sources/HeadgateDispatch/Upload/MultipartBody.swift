import HeadgateThreads

/// The content of a form: bytes and files in turn (RFC 2046 section 5.1.1).
struct MultipartBody: Sendable {
  enum Segment: Sendable {
    case bytes([UInt8])
    case file(BodyPlace)
  }

  let segments: [Segment]

  init(_ parts: [BodyPart], boundary: String) {
    var segments: [Segment] = []
    // Up to the next file.
    var pending: [UInt8] = []
    for part in parts {
      pending += "--\(boundary)\r\n".utf8
      pending += part.head
      switch part.content {
      case .bytes(let bytes): pending += bytes
      case .file(let place):
        segments += [.bytes(pending), .file(place)]
        pending = []
      }
      pending += "\r\n".utf8
    }
    pending += "--\(boundary)--\r\n".utf8
    self.segments = segments + [.bytes(pending)]
  }

  /// The whole content, if it does not depend on files.
  var bytes: [UInt8]? {
    guard case .bytes(let bytes)? = segments.first, segments.count == 1 else { return nil }
    return bytes
  }
}

/// A form whose files have been looked at. Its methods block.
///
/// A file is opened again when its turn comes, so that a form with a thousand files needs one descriptor. What was seen
/// of it at first must still hold then.
final class OpenMultipart: Sendable {
  private enum Content: Sendable {
    case bytes([UInt8])
    case file(BodyPlace, FileState)
  }

  private let segments: [(start: Int64, content: Content)]
  let length: Int64
  // The file that was read from last, and its segment.
  private let current = Locked<(index: Int, file: BodyFile)?>(nil)

  init(_ body: MultipartBody) throws(RequestBodyError) {
    var segments: [(start: Int64, content: Content)] = []
    var length: Int64 = 0
    for segment in body.segments {
      switch segment {
      case .bytes(let bytes):
        segments.append((length, .bytes(bytes)))
        length += Int64(bytes.count)
      case .file(let place):
        let file = try BodyFile(place, nil)
        segments.append((length, .file(place, file.state)))
        let (sum, isTooLong) = length.addingReportingOverflow(file.length)
        guard !isTooLong else { throw RequestBodyError(.tooLong, path: place.path, found: file.length) }
        length = sum
      }
    }
    (self.segments, self.length) = (segments, length)
  }

  /// The piece at an offset, and whether it is the last one.
  func piece(at place: Int64) throws(RequestBodyError) -> (bytes: [UInt8], isLast: Bool) {
    // An empty file shares its start with what follows it, so it is not opened again.
    guard let index = segments.lastIndex(where: { $0.start <= place }) else { return ([], true) }
    let (start, content) = segments[index]
    let bytes: [UInt8]
    switch content {
    case .bytes(let all):
      let offset = Int(place - start)
      bytes = Array(all[offset..<min(all.count, offset + Int(BodyFile.pieceSize))])
    case .file(let source, let state):
      let file: BodyFile
      if let open = current.withLock({ $0 }), open.index == index {
        file = open.file
      } else {
        // The last one is closed first, with no lock held.
        _ = current.withLock { $0.take() }
        file = try BodyFile(source, nil, as: state)
        current.withLock { $0 = (index, file) }
      }
      bytes = try file.piece(at: place - start).bytes
    }
    return (bytes, place + Int64(bytes.count) == length)
  }
}
