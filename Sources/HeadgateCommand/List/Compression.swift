/// A compression format. A compressed list can't be read as text.
enum Compression: String {
  case gzip, zstd, xz, bzip2

  /// Recognizes a format by the first bytes. Nil for any other content.
  init?(startingWith bytes: [UInt8]) {
    switch bytes.prefix(4) {
    case let start where start.starts(with: [0x1F, 0x8B]): self = .gzip
    case [0x28, 0xB5, 0x2F, 0xFD]: self = .zstd
    case [0xFD, 0x37, 0x7A, 0x58]: self = .xz
    case let start where start.starts(with: "BZh".utf8): self = .bzip2
    default: return nil
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
