import HeadgateDispatch

@testable import HeadgateCommand

/// Journals and results of earlier runs: all events are read back from their lines, and damage affects no event before
/// it or on a later line.
@Sendable func fuzzJournals(_ bytes: UnsafeRawBufferPointer) {
  let texts = bytes.split(separator: 0xFF).map { String(decoding: $0, as: UTF8.self) }
  let place = bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
  let events = sessionEvents(texts)
  for event in events { precondition(SessionEvent(Array(event.line.utf8).dropLast())?.line == event.line) }
  damage(SessionEvent.header, events.map(\.line), at: place) { SessionEvent($0)?.line }
  let calls = callEvents(texts)
  for event in calls { precondition(CallEvent(Array(event.line.utf8).dropLast()) == event) }
  damage(CallEvent.header, calls.map(\.line), at: place) { CallEvent($0)?.line }
  for journal in [Array(bytes), Array((SessionEvent.header + "\n").utf8) + bytes] { _ = SessionState.read(journal) }
  fuzzResults(bytes, texts, at: place)
  fuzzLogs(bytes, texts)
}

private func sessionEvents(_ texts: [String]) -> [SessionEvent] {
  let checksum = Checksum(String(repeating: "0f", count: 32))
  return texts.enumerated().map { index, text in
    let other = texts[(index + 1) % texts.count]
    let version = Validator(tag: other.isEmpty ? nil : other, modified: text.isEmpty ? nil : text)
    switch (text.utf8.first ?? 0) % 8 {
    case 0: return .began(boot: text)
    case 1:
      if index % 2 == 0 { return .creating(key: text, name: other) }
      return .part(key: text, name: other, version, PartIdentity(inode: UInt64(index), first: Array(other.utf8)))
    case 2: return .whole(key: text, SessionFile(name: other, size: index, validator: version), inode: .max)
    case 3:
      let file = SessionFile(name: other, size: .max, validator: Validator(), checksum: checksum)
      return .whole(key: text, file, inode: 0)
    case 4: return .listed(key: text, ListedURL(path: other, checksum: checksum, mirrors: [text, ""]))
    case 5: return .failed(key: text, error: other)
    case 6: return .sending(key: text)
    default: return .done(key: text)
    }
  }
}

private func callEvents(_ texts: [String]) -> [CallEvent] {
  texts.enumerated().map { index, text in
    let key = rowKey(text)
    switch (text.utf8.first ?? 0) % 3 {
    case 0: return .began(run: text, requests: text)
    case 1: return .sending(key, results: index)
    default: return .unsent(key)
    }
  }
}

func rowKey(_ text: String) -> RowKey {
  RowKey(run: "", content: RowContent(unreadable: Array(text.utf8)), occurrence: 0)
}

/// Truncates a journal, and overwrites a part of it with zeros.
///
/// - Parameter read: Returns the event of a line as a line. Nil if it has none.
private func damage(_ header: String, _ lines: [String], at place: Int, _ read: (ArraySlice<UInt8>) -> String?) {
  let journal = Array((header + "\n" + lines.joined()).utf8)
  let start = min(header.utf8.count + 1 + place % 4096, journal.count)
  let end = min(start + 1 + place % 7, journal.count)
  var before = 0
  var (count, after) = (header.utf8.count + 1, lines.count)
  for (index, line) in lines.enumerated() {
    let next = count + line.utf8.count
    if next <= start { before = index + 1 }
    // The line feed before it is intact.
    if count > end, after == lines.count { after = index }
    count = next
  }
  let cut = JournalFile.lines(Array(journal[..<start]), header)
  precondition(cut?.lines.compactMap(read) == Array(lines[..<before]))
  let zeroed = journal[..<start] + [UInt8](repeating: 0, count: end - start) + journal[end...]
  guard let damaged = JournalFile.lines(Array(zeroed), header)?.lines.compactMap(read) else {
    preconditionFailure("it is no journal any more")
  }
  precondition(damaged.starts(with: lines[..<before]) && damaged.suffix(lines.count - after) == lines[after...])
}
