import ArgumentParser
import Foundation
import HeadgateDispatch
import HeadgateThreads
import Testing

@testable import HeadgateCommand

/// The outcome of a run of `headgate fetch` in this process.
struct Fetched {
  let status: Int32
  let messages: String
  /// How long it took.
  let seconds: Double
  let records: [Record]

  /// The records by requested URL; a second record for a URL is an issue.
  let byURL: [String: Record]

  /// Runs it, with a log. The whole run must end in time.
  ///
  /// - Parameters:
  ///   - arguments: As on the command line. `@/` at the start of one stands for the folder.
  ///   - folder: Where its files are.
  ///   - limit: How many seconds it may take.
  init(_ arguments: [String], in folder: TemporaryFolder, until limit: Int = 110) async throws {
    let streams = Run.Streams(
      input: try Descriptor.openForReading("/dev/null"),
      output: try Descriptor.create(folder.file("stdout")),
      messages: try Descriptor.create(folder.file("stderr"))
    )
    defer { for stream in [streams.input, streams.output, streams.messages] { Descriptor.close(stream) } }
    let all = arguments.map { $0.hasPrefix("@/") ? folder.file(String($0.dropFirst(2))) : $0 }
    let command = try FetchCommand.parse(all + ["--log", folder.file("log"), "--deadline", "\(limit)"])
    let start = Deadline.now
    status = try await FetchRun(try command.options(), streams: streams).run().rawValue
    seconds = (Deadline.now - start).inSeconds
    messages = folder.text(of: "stderr") ?? ""
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    records = try (folder.text(of: "log") ?? "").split(separator: "\n").map {
      try decoder.decode(Record.self, from: Data($0.utf8))
    }
    byURL = Dictionary(records.map { ($0.url, $0) }) { first, _ in
      Issue.record("two records of \(first.url)")
      return first
    }
  }
}

/// A record as read from the log.
struct Record: Decodable {
  var url: String
  var finalUrl: String?
  var endPoint: String?
  var status: Int?
  var error: String?
  var bytes: Int?
  var file: String?
  var queued: Double?
  var tls: Double?
  var firstByte: Double?
  var total: Double?
}
