#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The code of a document in docs/: the lines of its code blocks, and the code spans of its text.
struct DocumentedCode {
  private(set) var lines: [String] = []
  private(set) var spans: [Substring] = []

  /// - Parameters:
  ///   - document: Its name in docs/, in the checkout of this file.
  ///   - heading: Of the second level: only what stands below it is read. Nil: the whole document.
  init(_ document: String, under heading: String? = nil) throws {
    let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    // The commands of the other blocks are not compiled.
    var (isCode, isSwift, isRead) = (false, false, heading == nil)
    for line in try Self.lines(of: root.appending(path: "docs/\(document)")) {
      if let heading, !isCode, line.hasPrefix("## ") { isRead = line == "## \(heading)" }
      guard isRead else { continue }
      if line.hasPrefix("```") {
        isCode.toggle()
        isSwift = line == "```swift"
      } else if isCode {
        if isSwift { lines.append(line) }
      } else {
        let pieces = line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        spans += pieces.filter { $0.offset % 2 == 1 }.map(\.element)
      }
    }
  }

  /// The lines that are missing in a source file.
  func lines(missingIn file: String) throws -> [String] {
    let code = Set(try Self.code(of: file))
    return lines.filter { !code.contains($0) }
  }

  /// The lines of a source file, without indentation.
  static func code(of file: String) throws -> [String] {
    try lines(of: URL(fileURLWithPath: file).resolvingSymlinksInPath())
  }

  private static func lines(of file: URL) throws -> [String] {
    String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n")
      .map { String($0.drop { $0 == " " }) }
  }
}
