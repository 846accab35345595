import HeadgateDispatch
import HeadgateThreads

@testable import HeadgateCommand

/// The messages of a run, read while it runs. A test waits here for a message before it releases a request.
final class MessagePipe: Sendable {
  /// For the run, which closes it.
  let writer: Int32
  private let reader: Int32

  init() throws { (reader, writer) = try Descriptor.pipe() }

  deinit { Descriptor.close(reader) }

  /// The next lines, up to the first one of interest.
  func lines(upTo isOfInterest: @escaping @Sendable (String) -> Bool) async throws -> [String] {
    let reader = reader
    let thread = try ManagedThread.spawn { () throws -> [String] in
      var lines: [String] = []
      while true {
        let line = String(decoding: try Descriptor.readLine(reader), as: UTF8.self)
        if line.isEmpty { return lines }
        lines.append(line)
        if isOfInterest(line) { return lines }
      }
    }
    return try await thread.value()
  }

  /// The rest, up to the summary.
  func rest() async throws -> [String] { try await lines { $0.hasPrefix("ok ") } }
}
