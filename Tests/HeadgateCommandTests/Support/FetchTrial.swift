import ArgumentParser
import Foundation
import HeadgateDispatch

@testable import HeadgateCommand

/// A run of `headgate fetch` in this process, with files for its streams.
final class FetchTrial: Sendable {
  let folder: TemporaryFolder
  let run: FetchRun
  private let streams: Run.Streams
  private let earlierLog: String

  /// Parses the arguments like the command. `@/` in them stands for the test's folder. Nothing is retried, unless they say
  /// so: a retry waits for real time to pass.
  init(
    _ arguments: [String], in folder: TemporaryFolder, input: String = "", output: Int32? = nil, messages: Int32? = nil,
    state: String? = nil
  )
    throws
  {
    self.folder = folder
    try folder.write(input, to: "stdin")
    streams = Run.Streams(
      input: try Descriptor.openForReading(folder.file("stdin")),
      output: try output ?? Descriptor.create(folder.file("stdout")),
      messages: try messages ?? Descriptor.create(folder.file("stderr"))
    )
    let arguments =
      ["--retry", "0"] + (state.map { ["--state", $0] } ?? ["--no-state"])
      + arguments.map { $0.hasPrefix("@/") ? folder.file(String($0.dropFirst(2))) : $0 }
    var options = try FetchCommand.parse(arguments).options()
    // A slow machine may not count a short list within a second.
    options.countingTime = .seconds(60)
    run = try FetchRun(options, streams: streams)
    // A session's log is continued.
    earlierLog = folder.text(of: "log") ?? ""
  }

  deinit { for stream in [streams.input, streams.output, streams.messages] { Descriptor.close(stream) } }

  func finish() async -> Fetched {
    let status = await run.run()
    let log = (folder.text(of: "log") ?? "").dropFirst(earlierLog.count)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return Fetched(
      status: status.rawValue,
      output: folder.bytes(of: "stdout") ?? [],
      messages: folder.text(of: "stderr") ?? "",
      records: log.split(separator: "\n").compactMap { try? decoder.decode(Record.self, from: Data($0.utf8)) }
    )
  }
}

/// The outcome.
struct Fetched {
  let status: Int32
  let output: [UInt8]
  let messages: String
  let records: [Record]

  var lines: [Substring] { messages.split(separator: "\n") }

  func record(_ url: String) -> Record? { records.first { $0.url == url } }

  /// A number of the summary; zero if it is not there.
  func count(_ word: String) -> Int {
    let rest = lines.last.flatMap { last in last.firstRange(of: word + " ").map { last[$0.upperBound...] } }
    return rest.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
  }
}

/// A record as read from the log.
struct Record: Decodable {
  var url: String
  var finalUrl: String?
  var endPoint: String?
  var status: Int?
  var httpVersion: String?
  var error: String?
  var message: String?
  var attempts: Int
  var bytes: Int?
  var file: String?
  var sha256: String?
  var mirror: String?
  var queued: Double?
  var waited: [String: Double]?
  var dns: Double?
  var connect: Double?
  var tls: Double?
  var firstByte: Double?
  var total: Double?
  var time: String?
  var start: Double?
  var sent: Double?
  var ran: Double?
  var limit: Int?
  var exchanges: [Exchange]?
  var pauses: [Pause]?

  struct Exchange: Decodable {
    var endPoint: String
    var start: Double
    var end: Double
    var status: Int?
    var limit: Int
  }

  struct Pause: Decodable {
    var endPoint: String
    var at: Double
    var until: Double
    var reason: String
  }
}

func fetch(_ arguments: String..., in folder: TemporaryFolder, input: String = "") async throws -> Fetched {
  try await FetchTrial(arguments, in: folder, input: input).finish()
}
