import Foundation
import HeadgateTesting
import Testing

/// The parsers of external data on the fuzzer's corpus, and on mutations of it. A condition that does not hold ends the
/// process, as under the fuzzer.
@Suite struct CorpusTests {
  /// For each file, unless the environment asks for more, as `make soak` does.
  private static let mutations = ProcessInfo.processInfo.environment["HEADGATE_MUTATIONS"].flatMap { Int($0) } ?? 100

  @Test("The conditions of the fuzzer hold for the corpus and its mutations", arguments: inputs.keys.sorted())
  func corpus(name: String) throws {
    let check = try #require(inputs[name])
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appending(path: "../Fuzz/Corpus/\(name)").standardizedFileURL
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .sorted { $0.path < $1.path }
    #expect(!files.isEmpty)
    for file in files {
      let seed = try Array(Data(contentsOf: file))
      seed.withUnsafeBytes(check)
      var random = SeededRandom(seed: UInt64(seed.count))
      for _ in 0..<Self.mutations {
        Self.mutated(seed, using: &random).withUnsafeBytes(check)
      }
    }
  }

  /// One to eight changes: a byte is replaced, inserted or removed, or a piece is repeated or moved.
  private static func mutated(_ seed: [UInt8], using random: inout SeededRandom) -> [UInt8] {
    var bytes = seed
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      let place = Int.random(in: 0...bytes.count, using: &random)
      let end = min(bytes.count, place + Int.random(in: 1...16, using: &random))
      switch Int.random(in: 0..<5, using: &random) {
      case 0 where place < bytes.count: bytes[place] = .random(in: 0...255, using: &random)
      case 1 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 2: bytes.insert(interesting.randomElement(using: &random) ?? 0, at: place)
      case 3: bytes.removeSubrange(place..<end)
      default: bytes.insert(contentsOf: bytes[place..<end], at: .random(in: 0...bytes.count, using: &random))
      }
    }
    return Array(bytes.prefix(4096))
  }

  private static let interesting = Array("\0\t\n\r \",./:;=?@[\\]{}%-+019\u{7f}é".utf8)
}
