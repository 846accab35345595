import Foundation

/// The commands that the tables of a page of docs/ show in their second column.
struct DocumentedCommands {
  /// In the order of the page, each once.
  let commands: [String]
  /// Second cells that are not a single command in backticks.
  let strange: [String]

  /// The text of a page of docs/, in the checkout of this file.
  static func text(of page: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    return String(decoding: try Data(contentsOf: root.appending(path: "docs/\(page)")), as: UTF8.self)
  }

  /// - Parameter page: Its name in docs/.
  init(_ page: String) throws {
    let text = try Self.text(of: page)
    var (commands, strange): ([String], [String]) = ([], [])
    let lines = text.split(separator: "\n")
    // A table's head is the line before its rule.
    let heads = Set(lines.indices.filter { lines[$0].hasPrefix("|---") }.flatMap { [$0 - 1, $0] })
    for place in lines.indices where lines[place].hasPrefix("|") && !heads.contains(place) {
      // A bar within a cell is preceded by a backslash.
      let cells = String(lines[place]).replacing("\\|", with: "\u{0}").split(separator: "|")
      let cell = cells.count == 3 ? cells[1].trimmingCharacters(in: .whitespaces) : String(lines[place])
      let code = cell.split(separator: "`", omittingEmptySubsequences: false)
      guard code.count == 3, code[0].isEmpty, code[2].isEmpty, code[1].contains("headgate ") else {
        strange.append(cell)
        continue
      }
      let command = String(code[1]).replacing("\u{0}", with: "|")
      if !commands.contains(command) { commands.append(command) }
    }
    (self.commands, self.strange) = (commands, strange)
  }
}
