@testable import HeadgateSharing

/// Lines between programs and the permit server, and records of permits: what was read is written so that it reads the
/// same again.
@Sendable func fuzzPermits(_ bytes: UnsafeRawBufferPointer) {
  let text = String(decoding: bytes, as: UTF8.self)
  for line in text.split(separator: "\n").map({ String($0) }) {
    if let command = try? PermitCommand(line: line), isShort(command.line) {
      precondition((try? PermitCommand(line: command.line)) == command)
      precondition(!command.line.utf8.contains(UInt8(ascii: "\n")))
    }
    if let reply = PermitReply(line: line) { precondition(PermitReply(line: reply.line) == reply) }
  }
  if let record = PermitRecord(text: text), record.text.split(separator: "\n").allSatisfy({ isShort($0) }) {
    precondition(PermitRecord(text: record.text) == record)
  }
}

/// Bytes that were not escaped are written as escapes, and then the line may be longer than one that is read.
private func isShort(_ line: some StringProtocol) -> Bool { line.utf8.count <= PermitWords.longestLine }
