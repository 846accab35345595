// How a run reads an input, for lists of URLs and for rows alike.

import HeadgateDispatch

extension InputReader {
  /// Passes the items of each piece to `take` until the end. If the input can't be read, the run has a fault. Other
  /// inputs may still be read.
  ///
  /// - Parameters:
  ///   - subcommand: The running subcommand, for the advice on a compressed input.
  ///   - fault: Reports a fault.
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
          "\(name): it is compressed with \(compression); "
            + "run \(compression.reader) FILE | headgate \(subcommand) -i - with your other options")
        return true
      case .broken(let reason):
        fault(.file, "\(name): \(reason)")
        return true
      case .items(let items): guard await take(items) else { return false }
      }
    }
  }
}
