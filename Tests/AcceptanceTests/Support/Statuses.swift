import HeadgateDispatch
import Testing

/// The status codes of concurrent requests, in the order of their ends; a failure is an issue, and nil.
func statuses(_ dispatcher: URLDispatcher, _ urls: [String]) async -> [Int?] {
  await withTaskGroup(of: Int?.self) { group in
    for url in urls {
      group.addTask {
        do {
          return try await dispatcher.data(for: url).statusCode
        } catch {
          Issue.record("\(error)")
          return nil
        }
      }
    }
    return await group.reduce(into: []) { $0.append($1) }
  }
}
