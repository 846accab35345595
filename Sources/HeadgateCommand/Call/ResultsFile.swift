#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A session's results from earlier runs.
enum ResultsFile {
  /// Opens the results to be read and added to, and makes the file if it is missing. What a kill or a power cut has
  /// left of a line at the end is cut off.
  ///
  /// - Parameters:
  ///   - path: The file's.
  ///   - take: Gets each result, in order.
  /// - Returns: The open file.
  /// - Throws: ``FetchProblem`` when it can't be had or has something other than results in it, which then stays as
  ///   it is.
  static func open(_ path: String, _ take: (ResultLine) -> Void) throws(FetchProblem) -> Int32 {
    let file: Int32
    do throws(SystemError) {
      file = try Descriptor.openJournal(path)
    } catch {
      switch error.errno {
      case EWOULDBLOCK: throw FetchProblem("the results \(path) belong to a run that is under way")
      case ELOOP: throw FetchProblem("the results \(path) are a symbolic link; name the file that it leads to")
      case EINVAL: throw FetchProblem("the results \(path) are no regular file, which --session needs")
      default: throw FetchProblem("the results \(path) can't be opened: \(error)")
      }
    }
    do throws(SystemError) {
      var scan = ResultsScan()
      while case let piece = try Descriptor.read(file, at: scan.count, atMost: 1 << 20), !piece.isEmpty {
        scan.add(piece, take)
      }
      if scan.isOurs {
        if scan.end < scan.count, ftruncate(file, off_t(scan.end)) != 0 { throw .last }
        return file
      }
    } catch {
      Descriptor.close(file)
      throw FetchProblem("the results \(path) can't be read: \(error)")
    }
    Descriptor.close(file)
    throw FetchProblem("the file \(path) has something other than results of headgate call in it; it stays as it is")
  }
}

/// Reads results that come in pieces, and finds where the whole ones end.
struct ResultsScan {
  /// How many bytes came.
  private(set) var count = 0
  /// How many of them are whole lines. What follows is torn.
  private(set) var end = 0
  private var partial: [UInt8] = []
  private var isForeign = false

  /// Whether it is a file of results, or may become one.
  var isOurs: Bool {
    !isForeign && (end > 0 || ResultLine.mayBegin(partial))
  }

  mutating func add(_ piece: [UInt8], _ take: (ResultLine) -> Void) {
    var rest = piece[...]
    while let last = rest.firstIndex(of: UInt8(ascii: "\n")) {
      partial += rest[..<last]
      see(partial[...], endingAt: count + last + 1, take)
      partial = []
      rest = rest[(last + 1)...]
    }
    partial += rest
    count += piece.count
  }

  private mutating func see(_ line: ArraySlice<UInt8>, endingAt place: Int, _ take: (ResultLine) -> Void) {
    if let result = ResultLine(line) {
      take(result)
      end = place
    } else if end == 0 {
      isForeign = true
    } else if line.allSatisfy({ $0 >= 0x20 }) {
      // A line that somebody has added. What has zeros in it was never written to its end, and is cut off if nothing
      // follows.
      end = place
    }
  }
}
