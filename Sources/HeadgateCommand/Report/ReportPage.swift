import HeadgateDispatch
import HeadgateReport
import HeadgateThreads

/// The page that `fetch --report` writes at the end. Records are kept on disk until then, so that a long run needs no
/// additional memory.
final class ReportPage: Sendable {
  private let path: String
  private let page: Int32
  private let records: Int32
  private let spool: LineWriter
  private let lane: SerialLane

  /// - Throws: ``FetchProblem`` if the page can't be written, before anything is fetched.
  init(_ path: String, on crew: LaneCrew) throws(FetchProblem) {
    self.path = path
    do throws(CreationError) {
      page = try Descriptor.create(path)
    } catch {
      throw FetchProblem("the report \(path) can't be written: \(error)")
    }
    do throws(SystemError) {
      records = try Descriptor.temporary()
    } catch {
      Descriptor.close(page)
      throw FetchProblem("the report \(path) needs a temporary file for its records: \(error); see TMPDIR")
    }
    spool = LineWriter(records, on: crew)
    lane = SerialLane(on: crew)
  }

  deinit { for descriptor in [page, records] { Descriptor.close(descriptor) } }

  /// Adds the record of a URL, in the format of the log.
  func add(_ record: String) { spool.write(record) }

  /// Suspends while too many records are pending in memory.
  func settle() async { if spool.isBehind { await spool.flush() } }

  /// Writes the page, after all records have been added. Returns a message for the user.
  func write() async throws(FetchProblem) -> String {
    await spool.flush()
    do throws(SystemError) {
      if let failure = spool.failure { throw failure }
      return try await lane.perform { [self] () throws(SystemError) in
        var log = RunLog()
        var offset = 0
        while true {
          let piece = try Descriptor.read(records, at: offset, atMost: 1 << 20)
          if piece.isEmpty { break }
          log.add(piece)
          offset += piece.count
        }
        log.finish()
        try Descriptor.write(RunPage.bytes(RunSummary(log)), to: page)
        return ReportText.page(path, log)
      }
    } catch {
      throw FetchProblem("the report \(path) is incomplete: \(error)")
    }
  }
}
