import HTTPTypes
import HeadgateDispatch

// File names from responses.

extension FetchRun {
  /// Renames a complete file to the name in its response. Blocks.
  ///
  /// - Returns: The file's path.
  func renamed(_ job: FetchJob, _ head: ResponseHead, _ path: String) -> String {
    let name = head[.contentDisposition].flatMap(ContentDisposition.name)
    let given = name.flatMap { name in
      FileName.harmless(name).isEmpty ? nil : options.wishedPath(job, FileName.Parts(given: name))
    }
    let own = options.wishedPath(job)
    // The name made from the URL is assigned already. The file has it, unless an older file must be replaced.
    var claimed = given ?? own == own ? job.name : nil
    let wished = given ?? own
    if let claimed, !options.overwrites {
      tellIfExisting(wished, claimed)
      return path
    }
    do throws(SystemError) {
      while true {
        let claimed = claimed.take() ?? paths.claim(wished)
        try paths.makeFolder(of: claimed)
        let new = FileName.path(claimed, in: options.folder)
        if new == path { return path }
        if try Descriptor.place(path, at: new, replacing: options.overwrites) {
          tellIfExisting(wished, claimed)
          return new
        }
      }
    } catch {
      report.fault(.file, "\(path) can't be renamed to \(wished): \(error); it keeps its name")
      return path
    }
  }
}
