@testable import HeadgateCommand
@testable import HeadgateDispatch
@testable import HeadgateGate

/// File names from URLs, lists and responses: none leaves its folder, is hidden, or breaks a terminal.
@Sendable func fuzzNames(_ bytes: UnsafeRawBufferPointer) {
  let text = String(decoding: bytes, as: UTF8.self)
  let disposition = ContentDisposition.name(text).map { FileName.notPart(FileName.harmless($0)) }
  precondition(disposition.map(isHarmless) ?? true)
  precondition(FileName.given(text).map(isHarmlessPath) ?? true)
  let word = text.utf8.filter { $0 >= 0x20 && $0 < 0x7F }
  let (quoted, encoded) = (
    word.flatMap { byte -> [UInt8] in "\"\\".utf8.contains(byte) ? [0x5C, byte] : [byte] }, URLText.escaped(text)
  )
  precondition(
    ContentDisposition.name("attachment; filename=\"\(String(decoding: quoted, as: UTF8.self))\"; x=y")
      == ContentDisposition.name("a; FileName* = utf-8'en'\(URLText.escaped(String(decoding: word, as: UTF8.self)))"))

  let lines = text.utf8.split(separator: UInt8(ascii: "\n"), maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
  let templates = fixed + [lines.first.flatMap { try? OutputTemplate($0) }].compactMap { $0 }
  for url in [
    text, "http://a.example/" + text, "http://a.example/" + encoded, "http://a.example/" + (lines.last ?? ""),
  ] {
    let parts = FileName.Parts(ofURL: url)
    precondition(isHarmless(parts.name) && isHarmless(FileName.of(url)))
    let ext = parts.ext.isEmpty ? 0 : parts.ext.utf8.count + 1
    precondition(parts.stem.utf8.count + ext == parts.name.utf8.count)
    guard let request = try? DispatchRequest(url) else { continue }
    for template in templates {
      for name in [parts] + [disposition].compactMap({ $0.map { FileName.Parts($0) } }) {
        let path = template.path(request, name, number: 1, line: 2)
        let components = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        precondition(components.allSatisfy { isComponent(Array($0)) })
      }
    }
  }
  fuzzRanges(text)
}

private let fixed = ["{n}{path}/{name}", "{host}/.{path}/.{ext}", "{stem}{stem}{name}.{ext}", "a{stem}"].map { text in
  guard let template = try? OutputTemplate(text) else { fatalError("a template is refused") }
  return template
}

private func isComponent(_ bytes: [UInt8]) -> Bool {
  !bytes.isEmpty && bytes.count <= FileName.longest + 1 && bytes != Array(".".utf8) && bytes != Array("..".utf8)
    && !bytes.contains { $0 < 0x20 || $0 == 0x7F }
}

/// Whether a name is that of a visible file in its folder, and not that of an incomplete file.
func isHarmless(_ name: String) -> Bool {
  isComponent(Array(name.utf8)) && name.utf8.first != UInt8(ascii: ".") && !name.utf8.contains(UInt8(ascii: "/"))
    && !name.lowercased().hasSuffix(".part") && !name.unicodeScalars.contains { (0x80..<0xA0).contains($0.value) }
}

/// Whether each component of a path is harmless, so that it leads to a file below its folder.
func isHarmlessPath(_ path: String) -> Bool {
  let components = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
  return components.allSatisfy { isHarmless(String(decoding: $0, as: UTF8.self)) }
}

/// Content-Range: a partial body continues only at the byte after it, and within the whole.
private func fuzzRanges(_ text: String) {
  for range in [text, "bytes " + text] {
    for status in [206, 416] {
      let answer = RangeAnswer(status: status, contentRange: range, tag: nil, after: 5, of: "\"a\"")
      if case .rest(let total) = answer { precondition(total > 5) }
      precondition(status == 206 ? answer != .complete : answer == .complete || answer == .unusable)
    }
  }
}
