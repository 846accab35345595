import HeadgateDispatch
import HeadgateLibC

/// A journal as a file: a header line, and a line for each event.
enum JournalFile {
  /// Opens or creates a journal, and locks it against other runs.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - header: The first line, without its line feed.
  ///   - command: The subcommand whose journals begin with that line.
  ///   - begin: Receives all lines except the first and an incomplete last one. Returns the text to append before
  ///     anything else happens.
  /// - Returns: The open file.
  /// - Throws: ``FetchProblem`` if the file can't be opened, is not such a journal, or is in use by another run. It
  ///   rethrows errors of `begin`, before anything is written.
  static func open(
    _ path: String, header: String, of command: String,
    _ begin: (ArraySlice<ArraySlice<UInt8>>) throws(FetchProblem) -> String
  ) throws(FetchProblem) -> Int32 {
    let journal: Int32
    do throws(SystemError) {
      journal = try Descriptor.openJournal(path)
    } catch {
      switch error.errno {
      case EWOULDBLOCK:
        throw FetchProblem(
          "the session \(path) is in use by another run; wait for its end, or give another file")
      case ELOOP: throw FetchProblem("the session \(path) is a symbolic link; give the path of its target")
      case EPERM: throw FetchProblem("the session \(path) cannot be used: \(CreationError.foreign)")
      default: throw FetchProblem("the session \(path) can't be opened: \(error)")
      }
    }
    do throws(FetchProblem) {
      try prepare(journal, path, header, command, begin)
      return journal
    } catch {
      Descriptor.close(journal)
      throw error
    }
  }

  private static func prepare(
    _ journal: Int32, _ path: String, _ header: String, _ command: String,
    _ begin: (ArraySlice<ArraySlice<UInt8>>) throws(FetchProblem) -> String
  ) throws(FetchProblem) {
    var bytes: [UInt8] = []
    do throws(SystemError) {
      while case let piece = try Descriptor.read(journal, at: bytes.count, atMost: 1 << 20), !piece.isEmpty {
        bytes += piece
      }
    } catch {
      throw FetchProblem("the session \(path) can't be read: \(error)")
    }
    guard let (lines, isTorn) = lines(bytes, header) else {
      throw FetchProblem("the file \(path) is not a session of headgate \(command); it was not changed")
    }
    // An incomplete line is terminated, and later reads skip it. An incomplete first line is written again.
    var start = isTorn ? "\n" : ""
    let added = try begin(lines)
    do throws(SystemError) {
      if !bytes.contains(UInt8(ascii: "\n")) {
        guard ftruncate(journal, 0) == 0 else { throw .last }
        start = header + "\n"
      }
      try Descriptor.write(Array((start + added).utf8), to: journal)
      guard start.hasPrefix(header) else { return }
      // The new journal itself must survive a power cut.
      try Descriptor.sync(journal)
      try? Descriptor.syncFolder(Descriptor.parent(of: path))
    } catch {
      throw FetchProblem("the session \(path) can't be written: \(error)")
    }
  }

  /// The bytes of a journal, which is not changed, even if another run is using it. Empty if there is none.
  static func peek(_ path: String) throws(FetchProblem) -> [UInt8] {
    var bytes: [UInt8] = []
    do throws(SystemError) {
      try Descriptor.peek(path) { bytes += $0 }
    } catch {
      throw FetchProblem("the session \(path) can't be read: \(error)")
    }
    return bytes
  }

  /// The complete lines after the first, and whether an incomplete one follows. Nil if the bytes are not such a
  /// journal.
  static func lines(_ bytes: [UInt8], _ header: String) -> (lines: ArraySlice<ArraySlice<UInt8>>, isTorn: Bool)? {
    guard !bytes.isEmpty else { return ([], false) }
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // A crash may have left only the beginning of the first line.
    guard let first = lines.first, header.utf8.starts(with: first),
      lines.count == 1 || first.count == header.utf8.count
    else { return nil }
    let last = lines.removeLast()
    return (lines.dropFirst(), !last.isEmpty)
  }
}

extension Descriptor {
  /// Reads a regular file in pieces, without a lock. A missing one is empty.
  static func peek(_ path: String, _ take: ([UInt8]) -> Void) throws(SystemError) {
    let file: Int32
    do throws(SystemError) { file = try openForReading(path) } catch {
      guard error.errno != ENOENT else { return }
      throw error
    }
    defer { close(file) }
    guard isRegularFile(file) else { throw SystemError(errno: EINVAL) }
    var count = 0
    while case let piece = try read(file, at: count, atMost: 1 << 20), !piece.isEmpty {
      count += piece.count
      take(piece)
    }
  }
}
