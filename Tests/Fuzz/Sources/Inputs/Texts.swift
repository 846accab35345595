import Foundation
import HTTPTypes
import HeadgateCurl
import HeadgateDispatch

@testable import HeadgateCommand

/// Checksums: every name that `sha256sum` writes is read unchanged.
func fuzzChecksums(_ bytes: UnsafeRawBufferPointer) {
  let digits = String(repeating: "0f", count: 32)
  let name = Array(String(decoding: bytes, as: UTF8.self).utf8.filter { $0 != 0 })
  let escapes: [UInt8: String] = [UInt8(ascii: "\\"): "\\\\", UInt8(ascii: "\n"): "\\n", UInt8(ascii: "\r"): "\\r"]
  let escaped = name.flatMap { byte in escapes[byte].map { Array($0.utf8) } ?? [byte] }
  let start = escaped == name ? "" : "\\"
  if !name.isEmpty, !name.starts(with: "./".utf8) {
    let text = String(decoding: name, as: UTF8.self)
    for line in [start + digits + "  " + String(decoding: escaped, as: UTF8.self), "SHA256 (\(text)) = \(digits)"] {
      let read = ChecksumLine(line.utf8)
      precondition(read.map { $0.name.utf8.elementsEqual(name) && $0.checksum.description == digits } ?? false)
    }
  }
  _ = ChecksumLine(bytes)
}

/// Passwords, header fields and cookies: they are read back unchanged, and no field can end and begin another.
func fuzzSecrets(_ bytes: UnsafeRawBufferPointer) {
  _ = try? Netrc(Array(bytes))
  let half = bytes.count / 2
  let (login, password) = (
    String(decoding: bytes[..<half], as: UTF8.self), String(decoding: bytes[half...], as: UTF8.self)
  )
  let text =
    "machine b.example login \(quoted(password))\nmachine a.example login \(quoted(login)) password \(quoted(password))"
  let credentials = (try? Netrc(Array(text.utf8)))?.authorization(for: "a.example")
  precondition(credentials == "Basic " + Data("\(login):\(password)".utf8).base64EncodedString())

  let fields = (try? HeaderSource.fields(inFile: Array(bytes))) ?? []
  precondition(fields.allSatisfy(isField))
  let lines = fields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
  precondition((try? HeaderSource.fields(inFile: Array(lines.utf8))) == fields)
}

private func quoted(_ word: String) -> String {
  let escaped = word.utf8.flatMap { byte -> [UInt8] in
    switch byte {
    case UInt8(ascii: "\n"): Array("\\n".utf8)
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): [UInt8(ascii: "\\"), byte]
    default: [byte]
    }
  }
  return "\"" + String(decoding: escaped, as: UTF8.self) + "\""
}

func isField(_ field: HTTPField) -> Bool {
  !field.value.utf8.contains { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") || $0 == 0 }
}
