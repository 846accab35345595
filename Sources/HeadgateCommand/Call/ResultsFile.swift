import HeadgateDispatch
import HeadgateLibC

/// The results of a session's earlier runs.
enum ResultsFile {
  /// Opens the results for reading and appending, and creates the file if it is missing. An incomplete line at the end,
  /// left by a kill or power cut, is cut off.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - take: Receives each result, in order.
  /// - Returns: The open file.
  /// - Throws: ``FetchProblem`` if the file can't be opened, or if it contains something other than results. The file
  ///   is then unchanged.
  static func open(_ path: String, _ take: (ResultLine) -> Void) throws(FetchProblem) -> Int32 {
    let file: Int32
    do throws(SystemError) {
      file = try Descriptor.openJournal(path)
    } catch {
      switch error.errno {
      case EWOULDBLOCK: throw FetchProblem("the results \(path) are in use by another run")
      case ELOOP: throw FetchProblem("the results \(path) are a symbolic link; give the path of the file itself")
      case EINVAL: throw FetchProblem("the results \(path) are not a regular file, which --session needs")
      case EPERM: throw FetchProblem("the results \(path) cannot be used: \(CreationError.foreign)")
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
    throw foreign(path)
  }

  static func foreign(_ path: String) -> FetchProblem {
    FetchProblem("the file \(path) contains something other than results of headgate call; it was not changed")
  }
}

/// Reads results in pieces, and finds the end of the last complete one.
struct ResultsScan {
  /// The number of bytes read.
  private(set) var count = 0
  /// The number of bytes in complete lines. The rest is truncated.
  private(set) var end = 0
  private var partial: [UInt8] = []
  private var isForeign = false

  /// Whether it is a results file, or an empty or incomplete one.
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
      // A line that someone added. A line with zeros was not written completely, and is cut off if no result follows.
      end = place
    }
  }
}
