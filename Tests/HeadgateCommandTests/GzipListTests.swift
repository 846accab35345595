import ArgumentParser
import Foundation
import HeadgateDispatch
import HeadgateOrigin
import Testing

@testable import HeadgateCommand

/// Lists compressed by gzip.
@Suite struct GzipListTests {
  /// `http://a/`, 20,000 times, compressed by gzip -9.
  private static let repeated = Data(
    base64Encoded:
      "H4sIAAAAAAAC/+3GIREAMAwEMD4zz+emrLCg/m8WJiBB6d25SeW0mZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZ"
      + "mZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZ"
      + "mZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZ"
      + "mZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZ"
      + "mZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZ"
      + "mZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZfe4BqJcV9kANAwA=")

  private func write(_ bytes: [UInt8], to folder: TemporaryFolder) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: folder.file("list.gz")))
  }

  /// The result of reading an input that arrives in pieces of a given size.
  private func read(_ bytes: [UInt8], by size: Int) -> (lines: [NumberedLine], most: Int, end: String) {
    var text = InputText(LineSplitter())
    var (rest, lines, most) = (bytes[...], [NumberedLine](), 0)
    while true {
      let piece: InputPiece<NumberedLine>
      if let next = text.next() {
        piece = next
      } else {
        piece = text.take(Array(rest.prefix(size)))
        rest = rest.dropFirst(size)
      }
      switch piece {
      case .items(let items):
        lines += items
        most = max(most, items.count)
      case .end: return (lines, most, "end")
      case .compressed(let form): return (lines, most, form.rawValue)
      case .broken(let reason): return (lines, most, reason)
      }
    }
  }

  @Test func `A compressed list equals the plain list, in pieces of any size and with several members`() {
    let text = "http://a/1\n\n# c\nhttp://a/2\nhttp://a/3"
    let plain = read(Array(text.utf8), by: 1000)
    #expect(plain.lines.map(\.number) == [1, 4, 5] && plain.end == "end")
    let members = Packed.gzip("http://a/1\n\n# c\nht") + Packed.gzip("") + Packed.gzip("tp://a/2\nhttp://a/3")
    for packed in [Packed.gzip(text), members] {
      for size in [1, 2, 3, 17, 1000] {
        let unpacked = read(packed, by: size)
        #expect(unpacked.lines == plain.lines && unpacked.end == "end", "by \(size)")
      }
    }
    #expect(read(Packed.gzip(""), by: 5).end == "end")
    #expect(read([], by: 5).end == "end")
    #expect(read(Packed.gzip("\u{FEFF}http://a/"), by: 1).lines == read(Array("http://a/".utf8), by: 9).lines)
  }

  @Test func `Little decompressed data is in memory at once, whatever a piece expands to`() throws {
    let packed = Array(try #require(Self.repeated))
    for size in [1, 100, packed.count] {
      let unpacked = read(packed, by: size)
      #expect(unpacked.lines.count == 20_000 && unpacked.end == "end")
      #expect(unpacked.most <= 64 * 1024 / 10 + 1)
    }
  }

  @Test func `Truncated data is reported with the last line read, and no partial line is used`() {
    let packed = Packed.gzip("http://a/1\nhttp://a/2\nhttp://a/33333")
    for size in [1, 1000] {
      let unpacked = read(packed.dropLast(10), by: size)
      #expect(unpacked.lines.map(\.line) == [.url("http://a/1"), .url("http://a/2")])
      #expect(
        unpacked.end == "its gzip data ends too early; it was read up to line 2, and nothing after that is used")
    }
    // Before its trailer: the end is not known yet.
    #expect(read(packed.dropLast(8), by: 7).end.hasPrefix("its gzip data ends too early"))
    #expect(read([0x1F, 0x8B], by: 1).end.contains("up to line 0"))
  }

  @Test func `Damaged data is reported`() {
    var packed = Packed.gzip("http://a/1\nhttp://a/2\n") + Packed.gzip("http://a/3\n")
    packed[packed.count - 6] ^= 1
    let unpacked = read(packed, by: 1)
    #expect(unpacked.lines.count == 3)
    #expect(unpacked.end == "its gzip data is damaged; it was read up to line 3, and nothing after that is used")
    #expect(read(Packed.gzip("http://a/1\n") + Array("more".utf8), by: 1000).end.contains("is damaged"))
    #expect(read([0x1F, 0x8B, 8, 0xFF, 1, 2, 3, 4], by: 1000).end.contains("is damaged"))
  }

  @Test func `Zeros after the last member are skipped, as by gzip, and nothing else is`() {
    let packed = Packed.gzip("http://a/1\n") + Packed.gzip("http://a/2\n")
    for zeros in [1, 7, 70_000] {
      for size in [1, 3, 100_000] where size > 1 || zeros < 100 {
        let padded = read(packed + [UInt8](repeating: 0, count: zeros), by: size)
        #expect(padded.lines.count == 2 && padded.end == "end", "\(zeros) by \(size)")
        let more = read(packed + [UInt8](repeating: 0, count: zeros) + Packed.gzip("http://a/3\n"), by: size)
        #expect(more.lines.count == 2 && more.end.contains("is damaged"), "\(zeros) by \(size)")
      }
    }
    #expect(read(Packed.gzip("") + [0, 0], by: 1000).end == "end")
    // Within a member they are an error.
    #expect(read(packed.dropLast(8) + [0, 0, 0, 0, 0, 0, 0, 0], by: 1000).end.contains("is damaged"))
  }

  @Test func `Data that is compressed twice, or only begins like gzip, is reported`() {
    #expect(read(Packed.gzip(Packed.gzip("http://a/1\n")), by: 1000).end == "gzip")
    let starts: [[UInt8]] = [[0x28, 0xB5, 0x2F, 0xFD, 1], [0xFD, 0x37, 0x7A, 0x58, 1], Array("BZh9".utf8)]
    for (start, format) in zip(starts, ["zstd", "xz", "bzip2"]) {
      for size in 1...5 {
        #expect(read(start, by: size).end == format && read(Packed.gzip(start), by: size).end == format)
        let text = read(start.prefix(2) + Array("\nhttp://a/".utf8), by: size)
        #expect(text.end == "end" && text.lines.last?.line == .url("http://a/"))
      }
    }
    for size in [1, 2] {
      let text = read([0x1F] + Array("http://a/\nhttp://a/\n".utf8), by: size)
      #expect(text.lines.count == 2 && text.end == "end")
      if case .bad(_, let reason)? = text.lines.first?.line { #expect(reason.contains("control characters")) }
      #expect(text.lines.last?.line == .url("http://a/"))
    }
    #expect(read([0x1F], by: 1).lines.count == 1)
  }

  @Test func `A list in a file or on the standard input is decompressed, and its lines are counted`() async throws {
    let folder = try TemporaryFolder()
    let origin = try Origin()
    let list = (0..<50).map { origin.url("/bytes/\($0)") }.joined(separator: "\n")
    try write(Packed.gzip(list), to: folder)
    #expect(ListCount.of(folder.file("list.gz"), while: { true }) == 50)
    let fetched = try await fetch("-i", "@/list.gz", "-P", "@/out", in: folder)
    #expect(fetched.status == 0 && folder.names(in: "out").count == 50)

    let (reader, writer) = try Descriptor.pipe()
    let messages = try Descriptor.create(folder.file("stderr"))
    let options = try FetchCommand.parse(["-i", "-", "-P", folder.file("piped")]).options()
    let run = try FetchRun(options, streams: .init(input: reader, output: 1, messages: messages))
    async let status = run.run()
    // A single byte first, which decides nothing yet.
    let packed = Packed.gzip(list)
    try Descriptor.write([packed[0]], to: writer)
    try Descriptor.write(Array(packed.dropFirst()), to: writer)
    Descriptor.close(writer)
    #expect(await status == .ok)
    #expect(folder.names(in: "piped").count == 50)
    Descriptor.close(reader)
    Descriptor.close(messages)
  }

  @Test func `A truncated list is an error of files, after the lines that could be read`() async throws {
    let folder = try TemporaryFolder()
    let origin = try Origin()
    try write(Packed.gzip("\(origin.url("/bytes/1"))\n\(origin.url("/bytes/2"))").dropLast(9), to: folder)
    let fetched = try await fetch("-i", "@/list.gz", "-P", "@/out", origin.url("/bytes/3"), in: folder)
    #expect(fetched.status == 3)
    #expect(folder.names(in: "out") == ["1", "3"])
    #expect(fetched.messages.contains("/list.gz: its gzip data ends too early; it was read up to line 1"))
  }
}
