#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A journal as a file: a first line that says what it is, and a line for each event.
enum JournalFile {
  /// Opens a journal, or begins one, and keeps other runs from it.
  ///
  /// - Parameters:
  ///   - path: The file's.
  ///   - header: The first line, without its line feed.
  ///   - command: The command whose journals begin with that line.
  ///   - begin: Gets all lines but the first and a torn last one, and returns what is added to them now, before
  ///     anything else happens.
  /// - Returns: The open file.
  /// - Throws: ``FetchProblem`` when it can't be had, is something else, or belongs to a run that is under way; and
  ///   what `begin` throws, before anything is written.
  static func open(
    _ path: String, header: String, of command: String,
    _ begin: (ArraySlice<ArraySlice<UInt8>>) throws(FetchProblem) -> String
  ) throws(FetchProblem) -> Int32 {
    let journal: Int32
    do throws(SystemError) {
      journal = try Descriptor.openJournal(path)
    } catch {
      switch error.errno {
      case EWOULDBLOCK: throw FetchProblem("the session \(path) belongs to a run that is under way")
      case ELOOP: throw FetchProblem("the session \(path) is a symbolic link; name the file that it leads to")
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
      throw FetchProblem("the file \(path) is no session of headgate \(command)'s; it stays as it is")
    }
    // What is torn gets an end, and is passed over by all who read it later. A torn first line is written anew.
    var start = isTorn ? "\n" : ""
    let added = try begin(lines)
    do throws(SystemError) {
      if !bytes.contains(UInt8(ascii: "\n")) {
        guard ftruncate(journal, 0) == 0 else { throw .last }
        start = header + "\n"
      }
      try Descriptor.write(Array((start + added).utf8), to: journal)
    } catch {
      throw FetchProblem("the session \(path) can't be written: \(error)")
    }
  }

  /// A journal's whole lines after the first, and whether a torn one follows them; nil for what is no such journal.
  static func lines(_ bytes: [UInt8], _ header: String) -> (lines: ArraySlice<ArraySlice<UInt8>>, isTorn: Bool)? {
    guard !bytes.isEmpty else { return ([], false) }
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // A crash may have left the beginning of the first line only.
    guard let first = lines.first, header.utf8.starts(with: first),
      lines.count == 1 || first.count == header.utf8.count
    else { return nil }
    let last = lines.removeLast()
    return (lines.dropFirst(), !last.isEmpty)
  }
}
