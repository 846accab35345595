/// A compression format. A compressed list can't be read as text.
enum Compression: String, CaseIterable {
  case gzip, zstd, xz, bzip2

  /// Recognizes a format by the first bytes. Nil for any other content.
  init?(startingWith bytes: [UInt8]) {
    guard let format = Self.allCases.first(where: { bytes.starts(with: $0.start) }) else { return nil }
    self = format
  }

  /// Whether more bytes are needed to recognize a format.
  static func mayBegin(_ bytes: [UInt8]) -> Bool {
    allCases.contains { bytes.count < $0.start.count && $0.start.starts(with: bytes) }
  }

  private var start: [UInt8] {
    switch self {
    case .gzip: [0x1F, 0x8B]
    case .zstd: [0x28, 0xB5, 0x2F, 0xFD]
    case .xz: [0xFD, 0x37, 0x7A, 0x58]
    case .bzip2: Array("BZh".utf8)
    }
  }

  /// The program that decompresses it.
  var reader: String {
    switch self {
    case .gzip: "zcat"
    case .zstd: "zstdcat"
    case .xz: "xzcat"
    case .bzip2: "bzcat"
    }
  }
}
