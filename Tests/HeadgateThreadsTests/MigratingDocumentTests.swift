import Foundation
import Testing

/// docs/migrating.md shows only code of the tests beside this file.
@Suite struct MigratingDocumentTests {
  private struct Listing {
    /// The contents of code blocks, line by line.
    var lines: [String] = []
    /// The code spans in the right column of tables, by section.
    var spans: [String: [String]] = [:]
    /// The calls in the left column without an answer in the right one.
    var unanswered: [String] = []
    private var title = ""

    init(_ document: String) {
      var isCode = false
      for line in document.split(separator: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) where !line.isEmpty {
        if line.hasPrefix("```") {
          isCode.toggle()
        } else if isCode {
          lines.append(line)
        } else if line.hasPrefix("## ") {
          title = String(line.dropFirst(3))
        } else if line.hasPrefix("|"), !line.hasPrefix("|---") {
          addRow(line)
        }
      }
    }

    private mutating func addRow(_ row: String) {
      let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 2, !cells[1].isEmpty else {
        unanswered.append(row)
        return
      }
      let pieces = cells[1].split(separator: "`", omittingEmptySubsequences: false)
      spans[title, default: []] += stride(from: 1, to: pieces.count, by: 2).map { String(pieces[$0]) }
    }
  }

  private static let here = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()

  private static func text(_ file: URL) throws -> String { try String(contentsOf: file, encoding: .utf8) }

  private static func listing() throws -> Listing {
    let root = here.deletingLastPathComponent().deletingLastPathComponent()
    return Listing(try text(root.appendingPathComponent("docs/migrating.md")))
  }

  /// The lines of code in a file, without comments and indentation.
  private static func code(of file: URL) throws -> [String] {
    try text(file).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("//") && !$0.hasPrefix("@Test") }
  }

  /// The code of the tests beside this one that the document mentions.
  private static func compiled() throws -> [String] {
    try ["Log", "Loop", "Pool", "Pthread", "Queue", "Thread", "Timer"].flatMap { name in
      try code(of: here.appendingPathComponent("Migrating\(name)Tests.swift"))
    }
  }

  /// The code of the flow control tests that the document mentions.
  private static func compiledForFlow() throws -> [String] {
    let folder = here.deletingLastPathComponent().appendingPathComponent("HeadgateFlowTests")
    return try code(of: folder.appendingPathComponent("MigratingFlowTests.swift"))
  }

  /// The code of the dispatcher's tests.
  private static func compiledForDispatcher() throws -> [String] {
    try [
      "HeadgateDispatchTests/MigratingDispatcherTests", "HeadgateDispatchTests/MigratingOkHttpTests",
      "HeadgateCurlTests/MigratingSharedTests",
    ].flatMap { name in
      try code(of: here.deletingLastPathComponent().appendingPathComponent("\(name).swift"))
    }
  }

  @Test("the document shows only code that is compiled here")
  func code() throws {
    let listing = try Self.listing()
    let (compiled, forDispatcher) = (try Self.compiled(), try Self.compiledForDispatcher())
    let forFlow = try Self.compiledForFlow()
    let whole = Set(compiled + forDispatcher + forFlow)
    for line in listing.lines { #expect(whole.contains(line), "no test has the line \(line)") }
    for (title, spans) in listing.spans {
      let code =
        switch title {
        case "DispatchGroup and DispatchSemaphore": forFlow
        case _ where title.hasPrefix("LSURL") || title.hasPrefix("OkHttp"): forDispatcher
        default: compiled
        }
      for span in spans { #expect(code.contains { $0.contains(span) }, "no test has the code \(span)") }
    }
    // If the parsing above found nothing, the checks would prove nothing.
    #expect(listing.lines.count > 10)
    #expect(listing.spans.values.joined().count > 150)
  }

  @Test("every call in the document's tables has an answer beside it, and every class a section")
  func answers() throws {
    let listing = try Self.listing()
    #expect(listing.unanswered.isEmpty)
    let classes = [
      "LSThreadPool", "LSInvocation", "LSTimerThread", "LSLog", "LSURLDispatcher", "LSURLDispatchOperation",
      "LSURLDispatchDelegate", "NSThread", "performSelector", "NSRunLoop and CFRunLoop", "pthread",
      "DispatchGroup and DispatchSemaphore", "DispatchQueue and Timer", "OperationQueue", "LinkedBlockingQueue",
      "OkHttp's Dispatcher",
    ]
    for name in classes { #expect(listing.spans[name]?.isEmpty == false, "no section on \(name)") }
  }
}
