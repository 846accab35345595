// How a run reads an input: the same for lists of URLs and for rows.

extension InputReader {
  /// Hands over the items of each piece, up to the end. What can't be read is a fault of the run; other inputs may still
  /// be read.
  ///
  /// - Parameters:
  ///   - subcommand: The one that runs, for the advice on a compressed input.
  ///   - fault: Tells of a fault.
  ///   - take: Returns false if the run stops. Nothing is read after that.
  /// - Returns: False if the run stops.
  func readAll(
    for subcommand: String, fault: (FailureClass, String) -> Void, take: ([Item]) async -> Bool
  ) async -> Bool {
    while true {
      let piece: InputPiece<Item>
      do throws(SystemError) {
        piece = try await next()
      } catch {
        fault(.file, "\(name): \(error)")
        return true
      }
      switch piece {
      case .end: return !stop.isRaised
      case .compressed(let compression):
        fault(
          .usage,
          "\(name): it is compressed by \(compression); "
            + "write \(compression.reader) FILE | headgate \(subcommand) -i - and what else you want")
        return true
      case .broken(let reason):
        fault(.file, "\(name): \(reason)")
        return true
      case .items(let items): guard await take(items) else { return false }
      }
    }
  }
}
