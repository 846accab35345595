import HeadgateDispatch
import HeadgateThreads

// The names and paths of files.

extension FetchOptions {
  /// The path that the file of a URL should have below the folder.
  func wishedPath(_ job: FetchJob, _ parts: FileName.Parts? = nil) -> String {
    let request = addressed(job)
    let parts = parts ?? job.wish.map { FileName.Parts($0) } ?? FileName.Parts(ofURL: request.url)
    return template?.path(request, parts, number: job.index + 1, line: job.line) ?? parts.name
  }

  /// The path that the file of a URL should have. Without its list, the name that the list has set and the number of the
  /// line are known from the journal only.
  func wishedPath(_ job: FetchJob, listed: (String) -> ListedURL?) -> String {
    (retriesAll ? listed(key(job)) : nil)?.path ?? wishedPath(job)
  }

  /// The key of a URL in the journal of a session.
  func key(_ job: FetchJob) -> String { sent.key(addressed(job).url) }

  /// The request for the URL itself, even if another one is sent: over a Unix-domain socket, or to a mirror.
  private func addressed(_ job: FetchJob) -> DispatchRequest {
    connection?.unixSocket == nil && job.mirror == nil ? job.request : (try? DispatchRequest(job.url)) ?? job.request
  }
}

extension FetchRun {
  /// Assigns the path of a URL's file below the folder. Called in the order of the list.
  func name(_ job: FetchJob) async -> String {
    let wished = options.wishedPath(job) { session?.listed($0) }
    let claimed = await paths.claim(wished, on: folders)
    // Reported once.
    if let template = options.template, paths.isWishedAgain(wished), !hasToldOfNumbers.exchange(true) {
      report.remark(
        "-o \(template.text): several URLs have the path \(wished), and all but the first are "
          + "numbered, such as \(claimed); {n} or {hash} makes paths different")
    }
    // Otherwise the response may name the file.
    if !options.takesNames { tellIfExisting(wished, claimed) }
    return claimed
  }

  /// How many existing files are named.
  private static let mostExistingTold = 5

  /// Tells of a body that does not get the path it should have, since a file from before the run has it: a reader of
  /// that file would get old data. A session numbers files on purpose.
  func tellIfExisting(_ wished: String, _ claimed: String) {
    guard claimed != wished, session == nil, paths.existed(wished) else { return }
    let count = besideExisting.withLock { count in
      count += 1
      return count
    }
    guard count <= Self.mostExistingTold else { return }
    let (old, new) = (FileName.path(wished, in: options.folder), FileName.path(claimed, in: options.folder))
    report.remark("\(old) exists; the new body is in \(new) (--overwrite replaces it)")
  }

  /// Counts the existing files that were not named.
  func tellRestOfExisting() {
    let rest = besideExisting.withLock { $0 } - Self.mostExistingTold
    guard rest > 0 else { return }
    report.remark("\(rest) more new \(rest == 1 ? "body is" : "bodies are") beside an existing file of the name")
  }

  /// Makes the folder of a file before its request is sent.
  func makeFolder(for name: String) async throws(DispatchError) { try await paths.makeFolder(of: name, on: folders) }
}

extension FilePaths {
  /// Assigns the path of a file. The disk is read on a lane, and only if the path has folders.
  func claim(_ wished: String, on lane: SerialLane) async -> String {
    guard FilePaths.folder(of: wished) != nil else { return claim(wished) }
    let claimed = try? await lane.perform { [self] () throws(SystemError) in claim(wished) }
    return claimed ?? claim(wished)
  }

  /// Makes the folder of an assigned path on a lane.
  func makeFolder(of path: String, on lane: SerialLane, syncs: Bool = false) async throws(DispatchError) {
    guard FilePaths.folder(of: path) != nil else { return }
    do throws(SystemError) {
      try await lane.perform { [self] () throws(SystemError) in try makeFolder(of: path, syncs: syncs) }
    } catch {
      throw DispatchError(
        .fileFailed, phase: .writing, detail: "making the folder of \(FileName.path(path, in: root)): \(error)",
        underlyingError: error)
    }
  }
}
