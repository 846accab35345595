import ArgumentParser
import Foundation
import HeadgateDispatch
import HeadgateReport

@testable import HeadgateCommand

/// A run of `headgate call` in this process, with files for its streams.
final class CallTrial: Sendable {
  let run: CallRun
  private let folder: TemporaryFolder
  private let streams: Run.Streams
  private let results: String

  /// Parses the arguments like the command. `@/` at the start of an argument stands for the test's folder. Nothing is
  /// retried, unless they say so.
  init(_ arguments: [String], in folder: TemporaryFolder, input: String = "", output: Int32? = nil) throws {
    self.folder = folder
    try folder.write(input, to: "stdin")
    streams = Run.Streams(
      input: try Descriptor.openForReading(folder.file("stdin")),
      output: try output ?? Descriptor.create(folder.file("stdout")),
      messages: try Descriptor.create(folder.file("stderr"))
    )
    let arguments =
      ["--retry", "0", "--no-state"] + arguments.map { $0.hasPrefix("@/") ? folder.file(String($0.dropFirst(2))) : $0 }
    var options = try CallCommand.parse(arguments).options()
    // A slow machine may not count a short list within a second.
    options.requests.countingTime = .seconds(60)
    results = options.results ?? folder.file("stdout")
    run = try CallRun(options, streams: streams)
  }

  deinit { for stream in [streams.input, streams.output, streams.messages] { Descriptor.close(stream) } }

  func finish() async throws -> Called {
    let status = await run.run()
    let text = FileManager.default.contents(atPath: results).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return Called(
      status: status.rawValue,
      messages: folder.text(of: "stderr") ?? "",
      results: try text.split(separator: "\n").map { try JSONReader.read(Array($0.utf8)) })
  }
}

/// The outcome.
struct Called {
  let status: Int32
  let messages: String
  /// The lines of the results.
  let results: [JSONValue]

  var last: Substring { messages.split(separator: "\n").last ?? "" }

  /// The values in the results at a path, in the order of the rows' lines.
  func column(_ path: String) throws -> [String] {
    let path = try FieldPath(path)
    let sorted = results.sorted { (Int($0["line"]?.text ?? "") ?? 0) < (Int($1["line"]?.text ?? "") ?? 0) }
    return sorted.map { path.value(in: $0)?.text ?? "" }
  }
}

func call(_ arguments: String..., in folder: TemporaryFolder, input: String = "") async throws -> Called {
  try await CallTrial(arguments, in: folder, input: input).finish()
}
