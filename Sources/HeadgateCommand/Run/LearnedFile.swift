import HeadgateDispatch
import HeadgateLibC
import HeadgateThreads

/// The file that keeps learned limits from one run to the next.
enum LearnedFile {
  /// Reads the file. A missing file counts as empty.
  static func read(_ path: String) throws(FetchProblem) -> LearnedLimits {
    guard access(path, F_OK) == 0 else { return LearnedLimits() }
    do {
      return LearnedLimits(String(decoding: try Descriptor.readFile(path), as: UTF8.self))
    } catch {
      throw FetchProblem("the learned limits in \(path) can't be read: \(error)")
    }
  }

  /// Writes what a gate has learned. Entries of end-points without requests stay as they were.
  static func write(learnedBy gate: EndPointGate, to path: String) throws(FetchProblem) {
    var learned = gate.limits.adaptive?.remembered ?? LearnedLimits()
    learned.merge(gate.learned)
    do {
      let file = try Descriptor.create(path)
      defer { Descriptor.close(file) }
      try Descriptor.write(Array(learned.description.utf8), to: file)
    } catch {
      throw FetchProblem("the learned limits can't be written to \(path): \(error)")
    }
  }
}
