import HTTPTypes
import HeadgateDispatch

/// The pages of a row that are written, and the one that follows them.
struct PageTrail: Hashable, Sendable {
  /// The number of pages that are written.
  private(set) var count: Int
  /// The URL of the next one.
  private(set) var next: String
  /// The URLs of the pages, but for the first: that is the row's own.
  private var visited: Set<URLDigest> = []

  init(_ count: Int, next: String) { (self.count, self.next) = (count, next) }

  /// The next page is written too, and has one after it.
  mutating func add(_ page: Int, next: String) {
    if let digest = try? URLDigest(self.next) { visited.insert(digest) }
    (count, self.next) = (page, next)
  }

  /// The request of the next page.
  ///
  /// - Parameter first: The row's own request.
  /// - Throws: ``RowProblem`` if its URL is none, has another origin, or has been requested for this row.
  func request(_ first: DispatchRequest) throws(RowProblem) -> DispatchRequest {
    guard !next.isEmpty else {
      throw RowProblem(
        code: "invalid_page", message: "the body of page \(count) is not JSON, so the page after it is not known")
    }
    let page: DispatchRequest?
    let digest: URLDigest
    do throws(DispatchError) {
      page = try first.page(at: next)
      digest = try URLDigest(next)
    } catch {
      throw RowProblem(
        code: "invalid_page", message: "the URL of the page after page \(count): " + BadURL.message(next, error.detail))
    }
    let shown = ShownText.of(ShownText.withoutPassword(next), atMost: ListLine.mostShown)
    guard var page else {
      throw RowProblem(
        code: "page_elsewhere",
        message:
          "page \(count) names \(shown) as the next one, which has another origin: it is not requested, since the "
          + "header fields are meant for \(first.endPoint)")
    }
    guard page.url != first.url, !visited.contains(digest) else {
      throw RowProblem(
        code: "page_loop", message: "page \(count) names \(shown) as the next one, which was requested before")
    }
    // The key is that of the row's own request.
    if let key = CallTemplate.idempotencyKey { page.headerFields[key] = nil }
    return page
  }
}
