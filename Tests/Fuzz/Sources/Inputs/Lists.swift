@testable import HeadgateCommand

/// Lists of URLs: the result does not depend on their pieces, nor on gzip, and no line can break a terminal or leave
/// the folder.
@Sendable func fuzzLists(_ bytes: UnsafeRawBufferPointer) {
  for format in ListFormat.allCases {
    let lines = readInAnyForm(bytes, format.cutter) { line in
      switch line.line {
      case .url(let url): "\(line.number) \(url)"
      case .entry(let entry): "\(line.number) \(entry)"
      case .nothing: "\(line.number)"
      case .bad(let text, let reason): "\(line.number) ! \(text): \(reason)"
      }
    }
    for line in lines { check(line.line) }
  }
  fuzzRows(bytes)
  fuzzChecksums(bytes)
  fuzzSecrets(bytes)
}

private func check(_ line: ListLine) {
  switch line {
  case .url(let url): precondition(isPrintable(url))
  case .entry(let entry):
    precondition(!entry.urls.isEmpty && entry.urls.allSatisfy(isPrintable))
    precondition(entry.name.map(isHarmlessPath) ?? true)
  case .nothing: break
  case .bad(let text, _): precondition(isPrintable(text))
  }
}

func isPrintable(_ text: String) -> Bool {
  !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
}

/// Reads an input unchanged, cut into pieces, and as gzip. Returns its items.
///
/// - Parameter shown: A text that is equal only for equal items.
func readInAnyForm<Item: Sendable>(
  _ bytes: UnsafeRawBufferPointer, _ cutter: any InputCutter<Item>, _ shown: (Item) -> String
) -> [Item] {
  let whole = read([Array(bytes)], cutter)
  let cut = read(pieces(of: bytes), cutter)
  let (texts, cutTexts) = (whole.items.map(shown), cut.items.map(shown))
  precondition(whole.end == cut.end)
  // The amount read before damaged data depends on the pieces.
  precondition(whole.end == .broken ? texts.starts(with: cutTexts) || cutTexts.starts(with: texts) : texts == cutTexts)
  let packed = read([gzip(Array(bytes))], cutter)
  precondition(bytes.starts(with: [0x1F, 0x8B]) ? packed.end == .compressed : packed.end == whole.end)
  precondition(packed.end == .compressed || packed.items.map(shown) == texts)
  return whole.items
}

private enum End { case whole, compressed, broken }

private func read<Item: Sendable>(
  _ pieces: [[UInt8]], _ cutter: any InputCutter<Item>
) -> (items: [Item], end: End) {
  var (text, items, rest) = (InputText(cutter), [Item](), pieces[...])
  while true {
    let piece: InputPiece<Item>
    if let next = text.next() { piece = next } else { piece = text.take(rest.popFirst() ?? []) }
    switch piece {
    case .items(let more): items += more
    case .end: return (items, .whole)
    case .compressed: return (items, .compressed)
    case .broken: return (items, .broken)
    }
  }
}

/// The bytes in the gzip format (RFC 1952), in one stored block.
private func gzip(_ bytes: [UInt8]) -> [UInt8] {
  func little(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
  var crc = UInt32.max
  for byte in bytes {
    crc ^= UInt32(byte)
    for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
  }
  let count = UInt16(bytes.count)
  return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1] + little(count) + little(~count) + bytes + little(~crc)
    + little(UInt32(count))
}
