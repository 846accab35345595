import HTTPTypes
import HeadgateFlow
import HeadgateLibC
import HeadgateTesting
import HeadgateThreads
import Testing

@testable import HeadgateDispatch

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The part files of downloads that continue: whose they are, and that none has bytes of two versions.
@Suite struct ResumingPartTests {
  @Test("what is not this download's is not continued: another URL, another file, another boot, a torn note")
  func strangers() async throws {
    let note = "a.part.note"
    let changes: [(String, (ResumingTrial) throws -> Void)] = [
      ("another file", { try $0.folder.write([UInt8](repeating: 7, count: 400_000), to: "a.part") }),
      ("another boot", { trial in try trial.folder.edit(note) { $0.replacing(Descriptor.boot() ?? "?", with: "b") } }),
      ("torn", { trial in try trial.folder.edit(note) { String($0.dropLast(10)) } }),
      ("emptied", { trial in try trial.folder.edit(note) { _ in "" } }),
      ("no part", { try $0.folder.remove("a.part") }),
    ]
    for (name, change) in changes {
      let trial = try ResumingTrial()
      try await trial.leavePart()
      try change(trial)
      async let file = trial.download()
      let exchange = try await trial.next(from: nil)
      exchange.head(200, [.eTag: "\"1\""])
      exchange.body(trial.body)
      exchange.end()
      #expect(try await file.get().continuedFrom == 0 && trial.isWhole(), "\(name)")
    }
    let trial = try ResumingTrial()
    try await trial.leavePart()
    async let other = trial.download(try trial.bench.request("/other"))
    try await trial.next(from: nil).respond(200, body: "other")
    #expect(try await other.get().bytes == 5 && trial.folder.names == ["a"])
  }

  @Test("a part or a note of another program stays, and so does what is no regular file", arguments: [5, 300_000])
  func foreign(_ size: Int) async throws {
    for (name, kind) in [("a.part", "file"), ("a.part", "pipe"), ("a.part.note", "file"), ("a", "folder")] {
      let trial = try ResumingTrial()
      switch kind {
      case "folder": try trial.folder.makeFolder(name)
      case "pipe": #expect(mkfifo(trial.folder.path + "/" + name, 0o600) == 0)
      default: try trial.folder.write(Array("theirs".utf8), to: name)
      }
      async let file = trial.download()
      let exchange = try await trial.next(from: nil)
      exchange.head(200, [.eTag: "\"1\""])
      exchange.body(Array(trial.body[..<size]))
      exchange.end()
      let error = await file.error
      #expect(
        error?.code == .fileFailed && error?.detail.contains(trial.folder.path + "/" + name) == true, "\(error as Any)")
      #expect(trial.folder.names == [name])
    }
  }

  @Test("two downloads at once do not write into one part")
  func two() async throws {
    let trial = try ResumingTrial()
    async let first = trial.download()
    let one = try await trial.next(from: nil)
    one.head(200, [.eTag: "\"1\""])
    one.body(Array(trial.body[..<300_000]))
    await trial.folder.waitFor("a.part", bytes: 262_144)
    let note = trial.folder.bytes("a.part.note")
    async let second = trial.download()
    let other = try await trial.bench.transport.next()
    other.head(200, [.eTag: "\"1\""])
    other.body(Array(trial.body[..<300_000]))
    let error = await second.error
    #expect(
      error?.code == .fileFailed && error?.detail.contains("another download is writing") == true, "\(error as Any)")
    #expect(trial.folder.bytes("a.part.note") == note)
    one.body(Array(trial.body[300_000...]))
    one.end()
    #expect(try await first.get().bytes == 700_000 && trial.isWhole())
    other.end(DispatchError(.cancelled))
  }

  @Test("runs that end at random moments, by a kill or in order, with torn notes: the file is always one version")
  func random() async throws {
    var (wentOn, finished) = (0, 0)
    for seed in 0..<150 {
      var random = SeededRandom(seed: UInt64(seed))
      let folder = try DownloadFolder()
      var version = 1
      for run in 0..<20 {
        if Int.random(in: 0..<6, using: &random) == 0 { version += 1 }
        let size = 100 + version * 700 % 3000
        func bytes(_ range: Range<Int>) -> [UInt8] {
          range.map { [version] in UInt8(truncatingIfNeeded: ($0 ^ seed) &* (2 * version + 1)) }
        }
        if Int.random(in: 0..<10, using: &random) == 0, let note = folder.bytes("a.part.note") {
          try folder.write(Array(note.prefix(Int.random(in: 0...note.count, using: &random))), to: "a.part.note")
        }
        let note = PartNote(.resuming(folder.path + "/a"), of: try DispatchRequest("http://a/"))
        let part = note.look()
        let store = NotedPart(note)
        let validator = Validator(tag: "\"\(version)\"")
        var place = 0
        if let part, part.validator == validator {
          try store.goOn(after: part)
          place = part.size
          wentOn += 1
        } else {
          store.begin(validator)
        }
        #expect(place <= size, "\(seed) \(run)")
        while place < size, Int.random(in: 0..<8, using: &random) > 0 {
          let end = min(size, place + Int.random(in: 1...800, using: &random))
          try store.append(bytes(place..<end))
          place = end
        }
        guard place == size else {
          switch Int.random(in: 0..<3, using: &random) {
          // A kill leaves everything as it is.
          case 0: continue
          case 1: store.leave(bytes(place..<min(place + 10, size)))
          default: store.drop()
          }
          continue
        }
        let whole = CompleteBody(rest: [], size: size, validator: validator, checksum: nil, modified: nil)
        store.finish(whole) { result in #expect(throws: Never.self) { try result.get() } }
        #expect(folder.names == ["a"] && folder.bytes("a") == bytes(0..<size), "\(seed) \(run)")
        finished += 1
      }
    }
    #expect(wentOn > 100 && finished > 100)
  }
}
