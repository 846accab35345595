/// A table in columns of equal width, for people.
package enum TextTable {
  /// The lines of a table, two spaces between columns.
  ///
  /// - Parameters:
  ///   - rows: The rows, with one text for each column.
  ///   - left: The columns that are aligned to the left. The last column, if among them, is not padded.
  package static func lines(_ rows: [[String]], left: Set<Int>) -> [String] {
    guard let columns = rows.first?.indices else { return [] }
    let widths = columns.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      columns.map { column in
        let space = String(repeating: " ", count: widths[column] - row[column].count)
        guard left.contains(column) else { return space + row[column] }
        return column == columns.last ? row[column] : row[column] + space
      }
      .joined(separator: "  ")
    }
  }
}
