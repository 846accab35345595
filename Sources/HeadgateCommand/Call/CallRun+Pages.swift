import HeadgateDispatch

// Requests the pages of a row one after another. Each is written before the next one is requested: a server may forget
// a page as soon as its successor was read.

extension CallRun {
  /// Requests the pages after those that are written.
  ///
  /// - Parameters:
  ///   - trail: The pages that are written.
  ///   - row: The row.
  ///   - first: The row's own request.
  func follow(_ trail: PageTrail, of row: CallRow, _ first: DispatchRequest) async {
    var trail = trail
    while true {
      let row = row.at(page: trail.count + 1)
      let request: DispatchRequest
      do throws(RowProblem) {
        request = try trail.request(first)
      } catch {
        return await end(row, error)
      }
      guard let next = await send(row, request, mayRepeat: true) else { return }
      trail.add(trail.count + 1, next: next)
    }
  }

  /// Whether the page after that of a result is requested.
  func hasNext(_ result: CallResult) -> Bool {
    guard let page = result.page, result.next != nil else { return false }
    return options.leave.maxPages.map { page < $0 } ?? true
  }
}
