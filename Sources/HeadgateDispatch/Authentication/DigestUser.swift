/// The number of uses of a nonce, and the client's own nonce.
struct DigestUse: Sendable {
  /// 1 for the first request.
  let number: UInt32
  let clientNonce: String
}

/// A user and a password, and the answers to challenges that they give: RFC 7616, section 3.4.
struct DigestUser: Sendable, CustomStringConvertible, CustomReflectable {
  let name: String
  let password: String

  /// A fixed text, without the password.
  var description: String { "DigestUser(REDACTED)" }

  /// A mirror without the password.
  var customMirror: Mirror { Mirror(self, children: []) }

  /// The value of `Authorization`. Nil if the body can't be covered as the server insists.
  func answer(
    to challenge: DigestChallenge, method: String, target: String, body: RequestBody?, _ use: DigestUse
  ) -> String? {
    guard let protection = challenge.protection(of: body) else { return nil }
    let count = String(use.number, radix: 16)
    let uses = String(repeating: "0", count: 8 - count.count) + count
    var key = challenge.digest("\(name):\(challenge.realm):\(password)")
    if challenge.isSession { key = challenge.digest("\(key):\(challenge.nonce):\(use.clientNonce)") }
    var sent = "\(method):\(target)"
    if protection == .authInt { sent += ":" + challenge.digest(body?.memory ?? []) }
    let middle = protection == .legacy ? "" : "\(uses):\(use.clientNonce):\(protection.rawValue):"
    let response = challenge.digest("\(key):\(challenge.nonce):\(middle)\(challenge.digest(sent))")

    var parts = [named(for: challenge), "realm=" + Self.quoted(challenge.realm)]
    parts += ["nonce=" + Self.quoted(challenge.nonce), "uri=" + Self.quoted(target), "response=\"\(response)\""]
    if let algorithm = challenge.algorithm { parts.append("algorithm=" + algorithm) }
    if protection != .legacy { parts.append("qop=\(protection.rawValue), nc=\(uses), cnonce=\"\(use.clientNonce)\"") }
    if let opaque = challenge.opaque { parts.append("opaque=" + Self.quoted(opaque)) }
    if challenge.hashesUser { parts.append("userhash=true") }
    return "Digest " + parts.joined(separator: ", ")
  }

  /// The user's name. A control character can't be quoted, and other than ASCII is encoded for a server that knows how.
  private func named(for challenge: DigestChallenge) -> String {
    if challenge.hashesUser { return "username=\"\(challenge.digest("\(name):\(challenge.realm)"))\"" }
    let canBeQuoted = name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && ($0 < 0x80 || !challenge.isUTF8) }
    return canBeQuoted ? "username=" + Self.quoted(name) : "username*=UTF-8''" + URLText.escaped(name)
  }

  private static func quoted(_ text: String) -> String {
    let quote = UInt8(ascii: "\""), backslash = UInt8(ascii: "\\")
    let escaped = text.utf8.flatMap { $0 == quote || $0 == backslash ? [backslash, $0] : [$0] }
    return "\"" + String(decoding: escaped, as: UTF8.self) + "\""
  }
}

extension DigestChallenge {
  fileprivate func digest(_ text: String) -> String { digest(Array(text.utf8)) }

  /// In hexadecimal digits.
  fileprivate func digest(_ bytes: [UInt8]) -> String {
    let sum = hash == .md5 ? MD5.sum(bytes) : SHA256.sum(bytes)
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: sum.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

extension RequestBody {
  /// All bytes of a body in memory; nil for all others.
  var memory: [UInt8]? {
    switch content {
    case .bytes(let bytes): bytes
    case .slices(let slices): slices.copy(0..<slices.count)
    case .file, .sequence, .parts: nil
    }
  }
}
