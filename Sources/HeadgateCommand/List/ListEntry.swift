import HeadgateDispatch

/// One file of a list.
struct ListEntry: Equatable, Sendable {
  /// The URL, followed by its mirrors.
  var urls: [String]
  /// The name for the file. Nil if not set.
  var name: String?
  var checksum: Checksum?
  /// The names of unsupported options.
  var unknown: [String] = []
}

extension FetchOptions {
  /// Makes a job of an entry. Invalid URLs are left out.
  ///
  /// - Returns: The job, and the URLs that were left out.
  /// - Throws: `invalidURL` for the first URL if all are invalid.
  func job(_ entry: ListEntry, index: Int) throws(DispatchError) -> (job: FetchJob, leftOut: [String]) {
    var leftOut: [String] = []
    var first: DispatchError?
    for (place, url) in entry.urls.enumerated() {
      do throws(DispatchError) {
        var job = FetchJob(url: url, request: try request(url), index: index)
        for mirror in entry.urls[(place + 1)...] {
          if (try? DispatchRequest(mirror)) != nil { job.mirrors.append(mirror) } else { leftOut.append(mirror) }
        }
        (job.wish, job.checksum) = (entry.name, entry.checksum)
        prefersMirrors(of: &job)
        return (job, leftOut)
      } catch {
        first = first ?? error
        leftOut.append(url)
      }
    }
    throw first ?? DispatchError(.invalidURL)
  }
}
