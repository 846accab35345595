import HeadgateDispatch
import Testing

@testable import HeadgateCommand

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The table of errors in docs/errors.md.
@Suite struct ErrorsDocumentTests {
  private static let codes: [DispatchError.Code] = [
    .badRedirect, .badResponse, .bodyFailed, .bodyNotReplayable, .bodyTooLarge, .cancelled,
    .connectFailed, .connectTimedOut, .connectionLost, .coordinatorUnavailable, .deadlineExceeded,
    .deliveryFailed, .displaced, .eventTooLarge, .fileFailed, .headTooLarge, .idleTimedOut,
    .interceptorFailed, .invalidURL, .lineTooLong, .longLaneFull, .nameNotResolved, .noEventStream,
    .pausedUntil, .proxyFailed, .redirectRefused, .refused, .refusing, .shutDown, .timedOut,
    .tlsFailed, .tooHeavy, .tooManyRedirects, .tooSlow, .transportFailed, .unreachable,
    .unsupported, .wouldBlock,
  ]

  /// The lines of a page of docs/.
  private static func lines(of page: String) throws -> [Substring] {
    let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return String(decoding: try Data(contentsOf: root.appending(path: "docs/\(page)")), as: UTF8.self)
      .split(separator: "\n")
  }

  /// The exit status that the table has for each word.
  private static func table() throws -> [String: String] {
    var table: [String: String] = [:]
    for line in try lines(of: "errors.md") where line.hasPrefix("| `") {
      let cells = line.split(separator: "|")
      guard cells.count == 4 else { continue }
      let words = cells[0].split(separator: "`").filter { word in word.allSatisfy { $0.isLetter || $0 == "_" } }
      for word in words { table[String(word)] = cells[3].filter { $0 != " " } }
    }
    return table
  }

  @Test func `Each code of DispatchError has a line, with the exit status of the command`() throws {
    let table = try Self.table()
    for code in Self.codes {
      // Only `call` has weights.
      let failure = code == .tooHeavy ? FailureClass(word: code.description) : FailureClass(code)
      #expect(table[code.description] == failure.map { "\($0.rawValue)" } ?? "", "\(code)")
    }
    #expect(table.count == Self.codes.count)
    let declared = try Self.lines(of: "reference/HeadgateGate.md").filter { $0.hasSuffix(": DispatchError.Code") }
    #expect(declared.count { $0.contains("static let ") } == Self.codes.count)
  }

  @Test func `Each exit status has a line`() throws {
    let shown = try Self.lines(of: "errors.md").compactMap { Int32($0.dropFirst(2).prefix { $0 != " " }) }
    let statuses = FailureClass.allCases.map(\.rawValue) + [0, 1, 9, 130]
    #expect(Set(statuses).subtracting(shown) == [])
  }
}
